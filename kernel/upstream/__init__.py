"""Overrides of IPython and ipykernel, and nothing else. Each says what it overrides and why.

tests/kernel/test_upstream.py fails loudly when a release changes what stands here.
"""
