"""PostgreSQL is killed and started again under load, and service goes on by itself."""

from tests.acceptance.service import Client, running, wait_for


def test_the_store_is_restarted_under_load(tmp_path, models, start_postgres):
    postgres = start_postgres(tmp_path / "postgres")
    options = ("--database", postgres.url)
    with running(tmp_path / "data", *options, models=models) as service:
        client = Client(service.runtime["broker"])
        client.remember("cat", "Her cat is called Momo")
        client.search_until("the name of her pet", "cat")
        before = [ask(client, n) for n in range(20)]
        postgres.process.kill()
        postgres.process.wait(30)
        meanwhile = [ask(client, n) for n in range(20)]
        client.remember("dog", "Their dog is called Rex")
        wait_for(lambda: not service.ready(), "the store to be missed")
        again = start_postgres(tmp_path / "postgres")
        assert again.url == postgres.url
        after = [ask(client, n) for n in range(20)]
        results = [client.result(request_id) for request_id in (*before, *meanwhile, *after)]
        for result in results:
            # Who had to wait too long for the store is told so; nobody is left without an answer.
            assert result["status"] == "ok" or result["error"]["code"] == "unavailable"
        found = [[hit["memory_id"] for hit in one["results"]] for one in results if one["results"]]
        assert all(ids[0] == "cat" for ids in found)
        # The store was away for a moment only: most of those who asked have waited for it.
        assert len(found) > len(results) / 2
        wait_for(service.ready, "the store to be back")
        # What was published while the store was away is there.
        client.search_until("what is their dog called?", "dog")
        assert client.dead_letters() == []
        client.close()
    assert "Traceback" not in service.output()


def ask(client, number):
    return client.request("the name of her pet", session_id=f"s{number}")
