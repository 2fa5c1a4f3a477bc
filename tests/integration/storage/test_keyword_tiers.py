"""By words, by parts where words are not written apart, and by scraps where nothing else is found.

On every store, and on the embedded one also as it is where SQLite has no FTS5.
"""

import pytest

from tests.integration.storage.corpus import answer, change, ids

CONTENTS = {
    "smith": "The appointment with Dr. Smith is on Monday",
    "runs": "User runs every morning",
    "be": "To be or not to be",
    "tokyo": "東京都に住んでいます",
    "kyoto": "京都の天気は晴れです",
    "mixed": "東京タワーは Tokyo Tower とも呼ばれる",
    "korean": "고양이를 좋아해요",
    "cafe": "Das Café Zürich öffnet um acht",
    "wild": '100% sure_thing * (maybe) "quoted" it\'s',
    "code": "SELECT name FROM words WHERE terms MATCH x",
    "blank": "!!! … 🌍",
}


@pytest.fixture(params=["sqlite", "without FTS5", "postgres"])
async def kept(request, stores):
    store = stores[request.param]
    await store.apply([change(name, content) for name, content in CONTENTS.items()])
    return store


async def found(store, query):
    return set(await ids(store, query, mode="keyword", limit=100))


@pytest.mark.requirement("SE-3", "SE-14")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("running", {"runs"}),
        ("Dr. Smith", {"smith"}),
        ("CAFÉ", {"cafe"}),
        ("cafe\u0301", {"cafe"}),
        ("Ｓｍｉｔｈ", {"smith"}),
        # Stop words say nothing beside others, and are looked for where there are no others.
        ("is the user on", {"runs"}),
        ("to be or not to be", {"be"}),
        ("not", {"be"}),
        # Words are found one by one, each enough.
        ("smith café", {"smith", "cafe"}),
    ],
)
async def test_words_are_found_by_their_stems(kept, query, expected):
    assert await found(kept, query) == expected


@pytest.mark.requirement("SE-14")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("東京都", {"tokyo"}),
        ("東京", {"tokyo", "mixed"}),
        ("京", {"tokyo", "kyoto", "mixed"}),
        ("天気", {"kyoto"}),
        ("東京 タワー", {"mixed"}),
        ("東京 tower", {"mixed"}),
        ("東京タワー TOWER tokyo", {"mixed"}),
        ("고양이", {"korean"}),
        ("양이", {"korean"}),
        ("イ", set()),
        # Where nothing has all of it, each run and each word of three letters counts alone.
        ("東京 ta", {"tokyo", "mixed"}),
        ("天気 東京に住", {"kyoto"}),
        ("天気 東京", {"kyoto", "tokyo", "mixed"}),
        ("天気 smith", {"kyoto", "smith"}),
        ("天気 is", {"kyoto"}),
    ],
)
async def test_where_words_are_not_written_apart_all_parts_must_be_there(kept, query, expected):
    assert await found(kept, query) == expected


@pytest.mark.requirement("SE-14")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Smi", {"smith"}),
        ("mit", {"smith"}),
        ("ppointm", {"smith"}),
        ("ürich", {"cafe"}),
        ("Smi ürich", {"smith", "cafe"}),
        # Shorter ones are in nearly every text.
        ("Sm", set()),
        ("it", {"wild"}),
        ("th", set()),
        ("t", set()),
        # What is found by words is enough.
        ("Smi morning", {"runs"}),
        ("xyzzy", set()),
    ],
)
async def test_scraps_are_looked_for_where_nothing_else_is_found(kept, query, expected):
    assert await found(kept, query) == expected


@pytest.mark.requirement("SE-14")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        *((sign, set()) for sign in ("%", "_", "*", '"', "'", "()", "^", "-", ":", "!!!", "🌍")),
        ("Sm%th", set()),
        ("Smi%", {"smith"}),
        ("Sm_th", set()),
        ("sm*", set()),
        ("runs*", {"runs"}),
        ('"runs', {"runs"}),
        ("(runs", {"runs"}),
        ("runs)", {"runs"}),
        ("-runs", {"runs"}),
        ("^runs", {"runs"}),
        ("folded:runs", {"runs"}),
        ("NEAR(runs morning, 1)", {"runs"}),
        ("runs AND smith", {"runs", "smith"}),
        ("runs NOT smith", {"runs", "smith"}),
        ("NOT", {"be"}),
        ("terms : match", {"code"}),
        ("'; DROP TABLE memories; --", set()),
        ('東京" OR "天気', {"tokyo", "kyoto", "mixed"}),
        ("東京% _", {"tokyo", "mixed"}),
        ("東京*", {"tokyo", "mixed"}),
    ],
)
async def test_wildcards_and_operators_are_plain_text(kept, query, expected):
    assert await found(kept, query) == expected


@pytest.mark.requirement("SE-14")
async def test_the_longest_words_and_queries_are_answered(kept):
    long = "x" * 5_000
    await kept.apply([change("long", f"{long} tail"), change("longer", f"{long}y 東{'京' * 3000}")])
    assert await found(kept, long) == {"long", "longer"}
    assert await found(kept, "x" * 8_192) == {"long", "longer"}
    assert await found(kept, "y" * 8_192) == set()
    assert await found(kept, "東" + "京" * 3000) == {"longer"}
    assert await found(kept, "京" * 8_192) == set()
    assert "smith" in await found(kept, "smith " * 1_365)
    many = " ".join(f"word{n}" for n in range(1_100))[:8_192]
    assert await found(kept, many) == set()
    assert "smith" in await found(kept, f"smith {many}"[:8_192])
    signs = '"' * 8_192
    assert await found(kept, signs) == set()
    parts = "".join(f"東 w{n:03}" for n in range(1_300))[:8_192]
    assert await found(kept, parts) >= {"tokyo"}


@pytest.mark.requirement("SE-14")
async def test_a_short_part_must_be_there_beside_a_long_one(kept):
    await kept.apply([change("open", "東京タワー is open"), change("shut", "東京タワー shut")])
    assert await found(kept, "東京タワー is") == {"open"}
    assert await found(kept, "is 東京タ") == {"open"}


@pytest.mark.requirement("SE-5")
async def test_how_often_a_part_is_there_counts(kept):
    await kept.apply([change("twice", "東京から東京まで"), change("once", "東京から大阪まで")])
    results = await answer(kept, "東京", mode="keyword")
    order = [one.memory_id for one in results if one.memory_id in {"once", "twice"}]
    assert order == ["twice", "once"]
    assert all(0 < one.score < 1 for one in results)
