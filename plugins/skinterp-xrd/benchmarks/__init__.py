"""Measurements of skinterp-xrd; run each as ``python -m benchmarks.<name>``."""
