"""From outside: searches that are used become a policy, and the log alone gives the same one."""

import json
import uuid

import pytest

from tests.acceptance.service import Client, running, wait_for

SEARCHES = 41


@pytest.mark.requirement("TR-4", "TR-5", "TR-9", "TR-10", "OB-3")
def test_a_worker_learns_and_a_replay_agrees(tmp_path, models):
    with running(tmp_path / "service", models=models) as service:
        topics = ("search.results", "dead-letters", "trajectories", "policies")
        client = Client(service.runtime["broker"], topics)
        client.remember_all({"cat": "Her cat is called Momo", "dog": "His dog is called Rex"})
        client.search_until("cat", "cat")
        asked = [
            client.request("what is her cat called", session_id=f"s{n}") for n in range(SEARCHES)
        ]
        for number, request_id in enumerate(asked):
            client.result(request_id)
            use = {
                "event_id": str(uuid.uuid4()),
                "tenant_id": "acme",
                "session_id": f"s{number}",
                "request_id": request_id,
                "memory_ids": ["cat"],
            }
            client.publish("context.usage", use, key=f"acme/s{number}".encode())

        rewards = 'memory_rlm_training_reward_count{tenant="acme"}'
        wait_for(lambda: service.metric(rewards) >= SEARCHES, "everything to be learned from")
        shown = json.loads(service.command("policy", "show", "-t", "acme", "--json").stdout)
        assert shown["trained"] == 40
        # So few show nothing yet: an operator lets what they taught serve.
        service.command("policy", "promote", "-t", "acme", "--why", "to try it", "--yes")
        shown = json.loads(service.command("policy", "show", "-t", "acme", "--json").stdout)
        assert shown["version"] == 1

        def published():
            told = [one for one in client.messages("policies") if one["tenant_id"] == "acme"]
            same = [one for one in told if one["version"] == shown["version"]]
            return same and same[-1]

        told = wait_for(published, "the policy")
        assert told["exploration_rate"] > 0
        assert told["version"] == shown["version"]
        assert (
            told["weights"].items()
            <= {name: each["weight"] for name, each in shown["weights"].items()}.items()
        )
        # The topic alone gives the same bits, and tells what another reward would have given.
        plot = tmp_path / "what-if.svg"
        what_if = ("--what-if", "reward_efficiency=0", "temperature=0.1", "--plot", str(plot))
        replayed = json.loads(service.command("replay", "--json", *what_if).stdout)
        acme = replayed["tenants"]["acme"]
        assert acme["live"]["identical"], acme["live"]
        assert acme["live"]["steps"] >= 2
        assert acme["as_it_is"]["version"] == shown["version"]
        assert acme["as_it_is"]["events"]["promoted"] == 1
        assert acme["what_if"]["trained"] == acme["as_it_is"]["trained"] >= 40
        assert "<svg" in plot.read_text()
        wrong = service.command("replay", "--what-if", "speed=1", check=False)
        assert wrong.returncode == 1
        assert "no such key; there are reward_success" in wrong.stderr
        client.close()
