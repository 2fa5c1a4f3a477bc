"""The trace from requirements to tests is true."""

from tests.trace import DOCUMENT, document, identifiers, proofs


def test_the_page_is_up_to_date():
    assert DOCUMENT.read_text() == document(), "run: python -m tests.trace"


def test_no_test_claims_a_requirement_that_does_not_exist():
    assert set(proofs()) <= set(identifiers())


def test_every_requirement_has_a_test():
    missing = set(identifiers()) - set(proofs())
    assert not missing, f"no test proves {sorted(missing)}"
