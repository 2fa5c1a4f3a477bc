"""Fixtures that any test may ask for."""

pytest_plugins = ["tests.integration.fixtures_postgres", "tests.integration.fixtures_kafka"]
