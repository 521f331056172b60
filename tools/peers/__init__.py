"""Peers' own test suites as a test of virtual time.

The people who wrote CPython and Go, and those who test Linux and POSIX, also wrote down what time,
timeouts, signals and sockets do. Their tests run natively, in a time domain, and in a domain that is
held again and again, and each test must end in the same way. So must programs that people use over a
network, also as nodes of a scenario. See `python -m peers --help`.
"""
