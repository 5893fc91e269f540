"""Benchmarks: ours and a peer on the same work in one run."""
