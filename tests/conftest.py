"""Fixtures that any test may ask for, and how hypothesis runs."""

from hypothesis import settings

pytest_plugins = ["tests.integration.fixtures_postgres", "tests.integration.fixtures_kafka"]

# Speed is measured in bench/; a busy machine is no reason for a test to fail.
settings.register_profile("memstream", deadline=None)
settings.load_profile("memstream")
