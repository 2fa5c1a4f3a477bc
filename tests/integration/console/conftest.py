"""Debian's Chromium, where there is one."""

import os
import shutil

import pytest


@pytest.fixture
def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("there is no chromium: install it")
    if found is None:
        pytest.skip("there is no chromium")
    return found
