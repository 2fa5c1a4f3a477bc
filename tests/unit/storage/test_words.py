"""What counts as a word, and what a query is looked for as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import words
from storage.words import LEAST_PART, MAX_TERMS, MAX_WORD, asked, folded, terms, title


@pytest.mark.requirement("SE-3")
@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("running runs run", ["run", "run", "run"]),
        ("Dr. Smith", ["dr", "smith"]),
        ("The cat's toys, the cats' toys", ["the", "cat", "toy", "the", "cat", "toy"]),
        ("can't can’t", ["cant", "cant"]),
        ("snake_case and-dashes", ["snake", "case", "and", "dash"]),
        ("CAFÉ cafe\u0301", ["café", "café"]),
        ("ＦＵＬＬ ﬁsh", ["full", "fish"]),
        ("东京 42 3.14", ["东京", "42", "3", "14"]),
        ("हिन्दी में किताब", ["हिन्दी", "में", "किताब"]),
        ("தமிழ் עִבְרִית İstanbul", ["தமிழ்", "עִבְרִית", "i\u0307stanbul"]),
        ("1\ufe0f\u20e3 \u0301x", ["1", "x"]),
        ("สวัสดี", ["สว", "สด"]),
        ("!!! … 🌍 % _ '", []),
        ("", []),
        ("x" * 500, ["x" * MAX_WORD]),
    ],
)
def test_terms_are_stems_without_case_width_and_possessives(text, stems):
    assert terms(text) == stems


@pytest.mark.parametrize(
    ("content", "stems"),
    [
        ("Ada Lovelace: wrote the first program", ["ada", "lovelac"]),
        ("Mercury (planet): is near", ["mercuri"]),
        ("Meeting at 10:30", ["meet", "at", "10"]),
        ("no title here", []),
        (": nothing before", []),
        ("x" * 80 + ": too late", []),
    ],
)
def test_a_title_is_what_stands_before_the_first_colon(content, stems):
    assert title(content) == stems


@pytest.mark.requirement("SE-14")
@pytest.mark.parametrize(
    ("query", "looked_for"),
    [
        (
            "Where does Dr. Smith run?",
            (("dr", "smith", "run"), (), ("where", "does", "smith", "run")),
        ),
        ("to be or not to be", (("to", "be", "or", "not"), (), ("not",))),
        ("cat cats CAT", (("cat",), (), ("cat", "cats"))),
        ("東京", ((), ("東京",), ("東京",))),
        ("東京 Tower is", ((), ("東京", "tower", "is"), ("東京", "tower"))),
        ("Tokyo東京tower", ((), ("東京", "tokyo", "tower"), ("東京", "tokyo", "tower"))),
        ("고양이 ねこ", ((), ("고양이", "ねこ"), ("고양이", "ねこ"))),
        ("%_*\"'", ((), (), ())),
        ("ab", (("ab",), (), ())),
    ],
)
def test_a_query_is_looked_for_by_words_or_by_parts(query, looked_for):
    found = asked(query)
    assert (found.terms, found.parts, found.scraps) == looked_for


@pytest.mark.requirement("SE-14")
@given(st.text(max_size=300))
def test_whatever_is_asked_is_bounded_and_distinct(query):
    found = asked(query)
    assert not (found.terms and found.parts)
    for some in (found.terms, found.parts, found.scraps):
        assert len(some) == len(set(some)) <= MAX_TERMS
        assert all(some)
    assert all(len(term) <= MAX_WORD for term in found.terms)
    runs = words._UNSPACED.findall(folded(query))
    assert all(len(scrap) >= LEAST_PART or scrap in runs for scrap in found.scraps)
    assert set(found.terms) <= set(terms(query))
    assert all(part in folded(query) for part in (*found.parts, *found.scraps))


@given(st.text(max_size=300))
def test_folding_twice_changes_no_word(text):
    assert terms(folded(text)) == terms(text)
    assert all(term and "|" not in term and not term.isspace() for term in terms(text))


def test_a_long_query_is_cut_to_what_can_be_told_apart():
    query = " ".join(f"word{n}" for n in range(900))
    assert asked(query).terms == tuple(f"word{n}" for n in range(MAX_TERMS))
    assert len(asked(" ".join("東" + "京" * n for n in range(90))).parts) == MAX_TERMS
