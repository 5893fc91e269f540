"""How a broken estimator is entered under the check that has to find it."""


def table():
    broken = {}

    def breaks(*checks):
        def enter(cls):
            broken.update(dict.fromkeys(checks, cls))
            return cls

        return enter

    return broken, breaks
