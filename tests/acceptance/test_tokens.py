"""From outside, with AUTH=jwt: only who has a token is served, and only as the token says."""

import itertools
import json
import time

import pytest

from tests.acceptance.service import HTTP, Client, Service, create_topic, running, wait_for
from tests.unit.tokens import bearer, confused, jwk, token, unsigned, write_keys

NUMBERS = itertools.count()


def bearing(**changed):
    return bearer(token(iat=time.time(), exp=time.time() + 600, **changed))


def item(memory_id, tenant="acme"):
    named = {"event_id": f"e-{memory_id}", "tenant_id": tenant, "memory_id": memory_id}
    return named | {"content": f"the cat called {memory_id}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory, own_parts):
    folder = tmp_path_factory.mktemp("tokens")
    keys = write_keys(folder / "keys.json", jwk("hs"), jwk("rs"))
    settings = {"auth": "jwt", "jwt_keys": keys, "embedder": "none"}
    with running(folder / "data", *own_parts, **settings) as service:
        if own_parts:
            create_topic(service.runtime["broker"], "memory.replies.acme")
        yield service


def answer(client, request_id, headers, **fields):
    request = {"request_id": request_id, "tenant_id": "acme", "session_id": "s", "query": "cat"}
    client.publish("search.requests", request | fields, headers=headers)
    return client.result(request_id)


@pytest.mark.requirement("SE-17", "SE-1")
def test_only_what_a_token_allows_is_written_and_read(service):
    client = Client(service.runtime["broker"])
    client.publish("items", item("bare"))
    client.publish("items", item("forged"), headers=bearing(tenant="umbrella"))
    client.publish("items", item("momo"), headers=bearing())
    wait_for(
        lambda: answer(client, f"r-{time.monotonic()}", bearing(kid="rs"))["results"], "the memory"
    )
    wait_for(lambda: len(client.dead_letters()) == 2, "two dead letters")
    found = answer(client, "mine", bearing(), limit=100)
    assert [memory["memory_id"] for memory in found["results"]] == ["momo"]
    assert answer(client, "bare", [])["error"]["code"] == "unauthorized"
    theirs = answer(client, "theirs", bearing(tenant="umbrella"))
    assert (theirs["error"]["code"], theirs["results"]) == ("forbidden", [])
    elevated = bearing(tenant="umbrella", roles=["cross_tenant_read"])
    assert len(answer(client, "elevated", elevated)["results"]) == 1
    wait_for(lambda: len(client.dead_letters()) == 4, "a dead letter for each refusal")
    tokens = {dict(letter.headers()).get("authorization") for letter in client.dead_letters()}
    assert tokens == {None, b"redacted"}
    metrics = HTTP.get(f"{service.runtime['web']}/metrics").text
    assert 'memstream_refusals_total{code="forbidden"} 2.0' in metrics
    assert 'memstream_refusals_total{code="unauthorized"} 2.0' in metrics
    assert "cross-tenant read" in service.output()
    client.close()


def times():
    return {"iat": time.time(), "exp": time.time() + 600}


REFUSED = {
    "forged": lambda: (token(version=1, **times()), "unauthorized"),
    "expired": lambda: (token(exp=time.time() - 60), "unauthorized"),
    "of another tenant": lambda: (token(tenant="umbrella", **times()), "forbidden"),
    "unsigned": lambda: (unsigned(**times()), "unauthorized"),
    "confused": lambda: (confused(**times()), "unauthorized"),
    "of an unknown key": lambda: (token(headers={"kid": "new"}, **times()), "unauthorized"),
    "of another algorithm": lambda: (token(headers={"kid": "rs"}, **times()), "unauthorized"),
    "cut off": lambda: (token(**times())[:-10], "unauthorized"),
}
ANSWERED = {"search.requests": "search.results", "context.requests": "context.assembled"}
SENT = {
    "items": {"memory_id": "never", "content": "a cat that must not be found"},
    "search.requests": {"query": "cat"},
    "context.requests": {"query": "cat"},
    "context.usage": {"memory_ids": ["momo"]},
    "feedback": {"quality_score": 0.0},
    "query.refinements": {"new_query": "dog"},
    "session.abandonments": {},
}


@pytest.mark.requirement("SE-17", "SE-1")
def test_whatever_is_wrong_with_a_token_every_topic_refuses_it(service):
    client = Client(service.runtime["broker"], (*ANSWERED.values(), "dead-letters"))
    expected = {}
    for kind, make in REFUSED.items():
        signed, code = make()
        for topic, fields in SENT.items():
            case = f"{topic} {kind}"
            named = {"event_id": case, "request_id": case, "tenant_id": "acme", "session_id": "s"}
            headers = [*bearer(signed), ("case", case.encode()), ("reply-to", b"memory.secret")]
            client.publish(topic, named | fields, headers=headers)
            expected[case] = code

    def letters():
        kept = [dict(letter.headers()) for letter in client.dead_letters()]
        return [one for one in kept if one.get("case", b"").decode() in expected]

    wait_for(lambda: len(letters()) >= len(expected), "a dead letter for each")
    told = {one["case"].decode(): one["memstream-error-code"].decode() for one in letters()}
    assert told == expected
    assert len(letters()) == len(expected)
    assert {one["authorization"] for one in letters()} == {b"redacted"}
    for asked, answered in ANSWERED.items():
        for kind, make in REFUSED.items():
            result = client.about(f"{asked} {kind}", answered)[0]
            assert result["error"]["code"] == make()[1]
    output = service.output()
    for case in expected:
        assert f"id='{case}'" in output, "each refusal is in the audit log"
    assert "must not be found" not in str(answer(client, "after", bearing(), limit=100))
    client.close()


@pytest.mark.requirement("SE-17")
def test_an_answer_goes_where_the_tenant_may_have_it(service):
    service.command("tenant", "set", "acme", "reply_topics=memory.replies.*")
    topics = ("replies.acme", *ANSWERED.values(), "dead-letters")
    client = Client(service.runtime["broker"], topics)

    def ask(topic, request_id, reply_to, query="cat", **fields):
        named = {"request_id": request_id, "tenant_id": "acme", "session_id": "s", "query": query}
        headers = [*bearing(), ("reply-to", reply_to), ("correlation-id", request_id.encode())]
        headers.append(("traceparent", b"00-1-2-01"))
        client.publish(topic, named | fields, headers=headers)

    def allowed():
        request_id = f"allowed {next(NUMBERS)}"
        ask("search.requests", request_id, b"memory.replies.acme")
        return client.about_either(request_id, *topics[:2])["status"] == "ok"

    wait_for(allowed, "it to be allowed, a second after it was set")
    for asked, usual in ANSWERED.items():
        for query in ("cat", "compare the cat and the dog across all teams"):
            ask(asked, f"{asked} {query}", b"memory.replies.acme", query)
            ask(asked, f"{asked} {query} elsewhere", b"memory.elsewhere", query)
            assert client.about(f"{asked} {query}", "replies.acme")[0]["status"] == "ok"
            refused = client.about(f"{asked} {query} elsewhere", usual)[0]
            assert refused["error"]["code"] == "forbidden"
            for topic, request_id in (
                ("replies.acme", f"{asked} {query}"),
                (usual, f"{asked} {query} elsewhere"),
            ):
                (headers,) = client.headers_of(topic, request_id)
                echoed = {"correlation-id": request_id.encode(), "traceparent": b"00-1-2-01"}
                assert headers == echoed
    ask("search.requests", "broken", b"memory.replies.acme", limit=0)
    broken = client.about("broken", "replies.acme")[0]
    assert broken["error"]["code"] == "invalid_request"
    client.close()


@pytest.mark.requirement("SE-17")
def test_the_command_line_sends_its_token(service):
    def mine(**changed):
        return token(**times(), **changed)

    told = service.command("remember", "a dog", "-t", "acme", "--id", "rex", "--token", mine())
    assert told.stdout.strip() == "rex"
    asked = ("search", "dog", "-t", "acme", "--json", "--token", mine())
    found = wait_for(
        lambda: (result := json.loads(service.command(*asked).stdout))["results"] and result,
        "the memory",
    )
    service.command("use", found["request_id"], "rex", "-t", "acme", "--token", mine())
    wait_for(lambda: service.counts("acme", "rex")["rex"].use_count == 1, "the use")


@pytest.mark.requirement("SE-17", "SE-1")
def test_signals_for_another_tenant_are_refused(service):
    client = Client(service.runtime["broker"])
    client.dead_letters()
    told = {"event_id": "e", "tenant_id": "acme", "session_id": "s", "request_id": "mine"}
    signals = {"context.usage": {"memory_ids": ["momo"]}, "feedback": {"quality_score": 0.0}}
    for topic, fields in signals.items():
        case = [("case", b"signals")]
        client.publish(topic, told | fields, headers=[*bearing(tenant="umbrella"), *case])
        client.publish(topic, told | fields, headers=case)
        client.publish(topic, told | fields, headers=[*bearing(), *case])

    def kept():
        kept = [dict(letter.headers()) for letter in client.dead_letters()]
        letters = [one for one in kept if one.get("case") == b"signals"]
        of = [(one["memstream-error-topic"], one["memstream-error-code"]) for one in letters]
        return {
            topic: [code for name, code in of if name == f"memory.{topic}".encode()]
            for topic in signals
        }

    refused = {topic: [b"forbidden", b"unauthorized"] for topic in signals}
    wait_for(lambda: kept() == refused, "a dead letter for each refusal")
    client.close()


@pytest.mark.requirement("SE-17")
def test_without_keys_it_does_not_start(tmp_path):
    for command in ("up", "worker"):
        ended = Service(tmp_path / "data", auth="jwt").command(command, check=False)
        assert ended.returncode == 1
        assert "MEMSTREAM_JWT_KEYS" in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
