"""The embedded PostgreSQL, for real: what it offers, and what it survives."""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest

from memstream.embedded import postgres
from memstream.embedded.postgres import embedded_postgres, superuser_url
from memstream.embedded.postgres.cluster import program
from memstream.embedded.postgres.user import server_user
from memstream.embedded.process import PartError

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

GONE_WITHIN_S = 20.0
"""The guard kills what has not stopped after 15 seconds; the rest is a busy machine's."""

KEEP, KEPT = "CREATE TABLE kept AS SELECT 7 AS number", "SELECT number FROM kept"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")


@asynccontextmanager
async def connected(url):
    connection = await asyncpg.connect(url, ssl=False)
    try:
        yield connection
    finally:
        await connection.close()


async def ask(url, query):
    async with connected(url) as connection:
        return await connection.fetchval(query)


def with_user(url, user, password):
    address = urlsplit(url)
    return address._replace(netloc=f"{user}:{password}@127.0.0.1:{address.port}").geturl()


def alive(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition, within=GONE_WITHIN_S):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def below(server):
    return psutil.Process(server.process.pid).children(recursive=True)


def postmaster(server):
    pid = (server.data_dir / "cluster" / "postmaster.pid").read_text().splitlines()[0]
    return psutil.Process(int(pid))


def kill_in_initdb(data_dir):
    command = [sys.executable, "-m", "memstream.embedded.postgres", f"--data-dir={data_dir}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE):
        until(lambda: any(data_dir.glob("making-*/cluster/base/1/PG_VERSION")))

        def all_killed():
            # With everything below it killed too, nobody tidies up; initdb may just have started
            # another program, which would go on writing.
            of_folder = [
                process
                for process in psutil.process_iter(["cmdline"])
                if str(data_dir) in " ".join(process.info["cmdline"] or ())
            ]
            for process in of_folder:
                process.kill()
            return not of_folder

        until(all_killed)


class TestOffers:
    async def test_vectors(self, postgres_url):
        assert await ask(postgres_url, "SELECT '[1,2]'::vector <-> '[1,5]'::vector") == 3.0

    async def test_a_role_that_is_bound_by_row_level_security(self, postgres_url):
        query = "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb FROM pg_roles"
        assert await ask(postgres_url, f"{query} WHERE rolname = current_user") is False

    async def test_no_way_to_the_files_of_the_machine(self, postgres_url):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await ask(postgres_url, "SELECT pg_read_file('postgresql.conf')")

    async def test_a_role_without_tables_to_become(self, postgres_url):
        async with connected(postgres_url) as connection:
            await connection.execute("CREATE TABLE private (id int); SET ROLE memstream_app")
            assert await connection.fetchval("SELECT current_user") == "memstream_app"
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute("SELECT * FROM private")

    @pytest.mark.parametrize("user", ["memstream", "postgres"])
    async def test_nothing_to_a_wrong_password(self, postgres_server, user):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await ask(with_user(postgres_server.url, user, "guess"), "SELECT 1")

    async def test_an_address_on_loopback_only(self, postgres_server):
        assert await ask(postgres_server.url, "SHOW listen_addresses") == "127.0.0.1"
        query = "SELECT setting FROM pg_settings WHERE name = 'unix_socket_directories'"
        assert await ask(superuser_url(postgres_server.data_dir), query) == ""

    async def test_words_apart_from_the_marks_around_them(self, postgres_url):
        query = "SELECT to_tsvector('simple', 'Ärger—stop “quoted” 日本、語')::text"
        assert await ask(postgres_url, query) == "'quoted':3 'stop':2 'ärger':1 '日本':4 '語':5"

    @pytest.mark.parametrize("_time", ["first", "second"])
    async def test_every_test_a_fresh_database(self, postgres_url, _time):
        async with connected(postgres_url) as connection:
            await connection.execute("CREATE TABLE once (embedding vector(3))")


class TestRestart:
    async def test_keeps_data_and_address(self, tmp_path):
        async with embedded_postgres(tmp_path / "data", settings=FAST) as first:
            await ask(first, KEEP)
        async with embedded_postgres(tmp_path / "data", settings=FAST) as second:
            assert second == first
            assert await ask(second, KEPT) == 7

    async def test_moves_when_its_port_is_taken(self, tmp_path):
        async with embedded_postgres(tmp_path / "data", settings=FAST) as first:
            port = urlsplit(first).port
        # It takes connections and says nothing, as a stranger might.
        with socket.create_server(("127.0.0.1", port)):
            async with embedded_postgres(tmp_path / "data", settings=FAST) as second:
                assert urlsplit(second).port != port
                assert await ask(second, "SELECT 1") == 1

    async def test_does_not_move_from_a_port_it_was_given(self, tmp_path):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            port = other.getsockname()[1]
            with pytest.raises(PartError, match="Address already in use"):
                async with embedded_postgres(tmp_path / "data", port=port, settings=FAST):
                    pytest.fail("it started on a taken port")

    async def test_finishes_what_a_kill_left_of_the_preparation(self, tmp_path):
        async with embedded_postgres(tmp_path / "data", settings=FAST) as first:
            await ask(first, KEEP)
        (tmp_path / "data" / "memstream.password").unlink()
        async with embedded_postgres(tmp_path / "data", settings=FAST) as second:
            assert second != first
            assert await ask(second, KEPT) == 7

    async def test_two_folders_work_side_by_side(self, tmp_path):
        async def one(name):
            async with embedded_postgres(tmp_path / name, settings=FAST) as url:
                return url, await ask(url, "SELECT 1")

        (url, answer), (other_url, other_answer) = await asyncio.gather(one("a"), one("b"))
        assert url != other_url
        assert answer == other_answer == 1


class TestRefuses:
    async def test_a_folder_in_use(self, tmp_path, monkeypatch):
        monkeypatch.setattr(postgres, "LEAVE_TIMEOUT_S", 0.2)
        async with embedded_postgres(tmp_path / "data", settings=FAST):
            with pytest.raises(PartError, match="in use by another memstream"):
                async with embedded_postgres(tmp_path / "data", settings=FAST):
                    pytest.fail("two servers had one folder")

    async def test_a_folder_of_somebody_else(self, tmp_path):
        (tmp_path / "letter.txt").touch()
        mode = tmp_path.stat().st_mode
        with pytest.raises(PartError, match="a folder of its own"):
            async with embedded_postgres(tmp_path):
                pytest.fail("it moved in")
        assert tmp_path.stat().st_mode == mode

    async def test_a_setting_that_makes_no_sense_and_shows_the_log(self, tmp_path):
        with pytest.raises(PartError, match="invalid value for parameter"):
            async with embedded_postgres(tmp_path / "data", settings={"shared_buffers": "many"}):
                pytest.fail("it started")

    @as_root
    async def test_root_without_setpriv_and_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda _: None)
        with pytest.raises(PartError, match="install util-linux"):
            async with embedded_postgres(tmp_path / "data"):
                pytest.fail("it started as root")


class TestStops:
    @pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
    def test_on_a_signal(self, tmp_path, start_postgres, stop_signal):
        server = start_postgres(tmp_path / "data")
        parts = below(server)
        server.process.send_signal(stop_signal)
        assert server.process.wait(GONE_WITHIN_S) == 0
        assert not any(map(alive, parts))

    def test_when_its_starter_is_killed(self, tmp_path, start_postgres):
        server = start_postgres(tmp_path / "data")
        parts = below(server)
        assert postmaster(server) in parts
        server.process.kill()
        until(lambda: not any(map(alive, parts)))

    def test_when_its_guard_is_killed(self, tmp_path, start_postgres):
        server = start_postgres(tmp_path / "data")
        parts = below(server)
        postmaster(server).parent().kill()
        until(lambda: not any(map(alive, parts)))


class TestSurvives:
    async def test_a_kill_of_its_starter_and_a_start_right_after(self, tmp_path, start_postgres):
        killed = start_postgres(tmp_path / "data")
        async with connected(killed.url) as connection:
            await connection.execute(KEEP)
            killed.process.kill()
            async with embedded_postgres(tmp_path / "data", settings=FAST) as url:
                assert url == killed.url
                assert await ask(url, KEPT) == 7

    async def test_a_start_while_its_predecessor_still_serves(self, tmp_path, start_postgres):
        killed = start_postgres(tmp_path / "data")
        old, guard = postmaster(killed), postmaster(killed).parent()
        guard.suspend()
        killed.process.kill()
        killed.process.wait()
        said = asyncio.Queue()

        async def restart():
            async with embedded_postgres(
                tmp_path / "data", settings=FAST, progress=said.put_nowait
            ) as url:
                return url, alive(old)

        restarting = asyncio.create_task(restart())
        while "still stopping" not in await said.get():
            assert alive(old)
        guard.resume()
        assert await restarting == (killed.url, False)

    async def test_a_kill_of_postgres_itself(self, tmp_path, start_postgres):
        server = start_postgres(tmp_path / "data")
        async with connected(server.url) as connection:
            await connection.execute("SET synchronous_commit TO on")
            await connection.execute(KEEP)
            postmaster(server).kill()
            server.process.terminate()
            async with embedded_postgres(tmp_path / "data", settings=FAST) as url:
                assert url == server.url
                assert await ask(url, KEPT) == 7

    async def test_a_kill_in_the_middle_of_initdb(self, tmp_path):
        data_dir = tmp_path / "data"
        kill_in_initdb(data_dir)
        assert not (data_dir / "cluster").exists()
        assert any(data_dir.glob("making-*"))
        async with embedded_postgres(data_dir, settings=FAST) as url:
            assert await ask(url, "SELECT 1") == 1
        assert not any(data_dir.glob("making-*"))


@as_root
class TestAsRoot:
    async def test_runs_as_nobody_and_leaves_private_parents_private(
        self, tmp_path, start_postgres
    ):
        private = tmp_path / "private"
        private.mkdir(mode=0o700)
        folders = [private, *private.parents]
        before = [(folder.stat().st_mode, folder.stat().st_uid) for folder in folders]
        server = start_postgres(private / "data")
        nobody = pwd.getpwnam("nobody").pw_uid
        ids = [process.uids() for process in postmaster(server).children()]
        assert {uid for of in [*ids, postmaster(server).uids()] for uid in of} == {nobody}
        assert [(folder.stat().st_mode, folder.stat().st_uid) for folder in folders] == before
        assert (private / "data").stat().st_mode & 0o7777 == 0o710

    @pytest.mark.parametrize("mode", [0o755, 0o700])
    async def test_asks_for_no_privilege_that_is_not_needed(self, mode):
        # pytest's own folders are private, so this one lies beside them.
        with TemporaryDirectory() as name:
            data_dir = Path(name) / "data"
            data_dir.mkdir(mode=0o700)
            data_dir.parent.chmod(mode)
            user = await server_user(data_dir, data_dir / "cluster", program("initdb"))
            on_the_way = [*data_dir.parents, *program("initdb").parents]
            private = not all(folder.stat().st_mode & 0o001 for folder in on_the_way)
        assert ("--ambient" in " ".join(user.prefix)) == private

    async def test_runs_programs_from_a_private_folder(self, tmp_path, start_postgres):
        private = tmp_path / "private"
        package = program("initdb").parents[2]
        shutil.copytree(package / "pginstall18", private / package.name / "pginstall18")
        shutil.copytree(f"{package}.libs", private / f"{package.name}.libs")
        (private / package.name / "__init__.py").touch()
        private.chmod(0o700)
        server = start_postgres(tmp_path / "data", env={"PYTHONPATH": str(private)})
        assert await ask(server.url, "SELECT '[1]'::vector::text") == "[1]"
        assert postmaster(server).cmdline()[0].startswith(str(private))

    async def test_runs_in_a_container_that_lacks_the_lesser_privilege(
        self, tmp_path, start_postgres
    ):
        container = ("setpriv", "--bounding-set=-dac_read_search,-sys_ptrace")
        server = start_postgres(tmp_path / "data", before=container)
        assert await ask(server.url, "SELECT 1") == 1

    async def test_runs_for_a_normal_user(self, tmp_path, start_postgres):
        nobody = pwd.getpwnam("nobody")
        home = tmp_path / "home"
        home.mkdir()
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        # Where this checkout is private to root, that user needs the means to read it all the same.
        user = await server_user(tmp_path, home / "data" / "cluster", program("initdb"))
        server = start_postgres(home / "data", before=user.prefix)
        assert await ask(server.url, "SELECT '[1]'::vector::text") == "[1]"
        assert (home / "data").stat().st_mode & 0o7777 == 0o700
        assert postmaster(server).parent().uids().real == nobody.pw_uid
        server.process.terminate()
        server.process.wait()
        # Root goes on with what that user made, as that user.
        again = start_postgres(home / "data")
        assert again.url == server.url
        assert postmaster(again).uids().effective == nobody.pw_uid
