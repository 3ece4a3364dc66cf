"""The jobs of RQ's session, for its worker too."""


def add(a, b):
    return a + b


def fail():
    raise ValueError("this job always fails")
