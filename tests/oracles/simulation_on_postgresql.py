"""The simulation with a database server, which can go as well."""

import signal

from hypothesis import strategies as st
from hypothesis.stateful import rule
from sqlalchemy import NullPool, create_engine

from tests.oracles.simulation import Faults, Killed, Simulation

NO_ROOM = """
CREATE TABLE test_disk (is_full boolean); INSERT INTO test_disk VALUES (false);
CREATE FUNCTION test_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF (SELECT is_full FROM test_disk) THEN RAISE 'no room' USING ERRCODE = '53100'; END IF;
  RETURN NULL; END $$;
"""
CHECKED = "CREATE TRIGGER test_room BEFORE INSERT OR UPDATE OR DELETE ON {} EXECUTE FUNCTION {}()"


class ServerFaults(Faults):
    """Of a server: a connection is cut without a goodbye, and the disk is full by a trigger.

    crash: instead of the process the server ends, as if the power had gone, and starts again.
    """

    def __init__(self, server, url):
        self.server, self.url, self.crash, self.gone, self._full = server, url, False, False, False
        self.looking = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with self.looking.connect() as connection:
            connection.exec_driver_sql(NO_ROOM)
            for table in ("reports", "codes", "counts", "strata", "releases"):
                connection.exec_driver_sql(CHECKED.format(table, "test_room"))
        super().__init__()

    @property
    def full(self):
        return self._full

    @full.setter
    def full(self, full):
        if full != self._full:
            with self.looking.connect() as connection:
                connection.exec_driver_sql(f"UPDATE test_disk SET is_full = {full}")
        self._full = full

    def _limit(self, *_):
        pass

    def point(self, *_, **__):
        if self.left is None or self.gone:
            return
        if self.left == 0 and self.crash:
            self.server.stop(signal.SIGQUIT)
            self.server.start()
            self.left = None
        elif self.left == 0:
            self.gone = True  # nothing of the process runs any more: it rolls nothing back
            raise Killed
        else:
            self.left -= 1

    def watch(self, engine):
        super().watch(engine)
        rollback = engine.dialect.do_rollback
        engine.dialect.do_rollback = lambda line: None if self.gone else rollback(line)

    def cut_off(self):
        """The server notices that whoever was there is gone."""
        self.gone = False
        others = "FROM pg_stat_activity WHERE datname = current_database()"
        others += " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        with self.looking.connect() as connection:
            connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid, 10000) {others}")


class OnPostgres(Simulation):
    """The same on a server, which can go as well; the shuffler does not, and says that it failed.

    server: of the test alone.
    """

    server = None
    unanswered = (None, 500, 503, 507)

    def given(self):
        self.url = self.server.database()
        return {"database": self.url}

    def new_faults(self):
        return ServerFaults(self.server, self.url)

    @rule(after=st.integers(0, 40))
    def the_server_goes(self, after):
        self.kill, self.faults.crash = after, True

    @rule(after=st.integers(0, 40))
    def a_kill_comes(self, after):
        self.kill, self.faults.crash = after, False

    def restart(self):
        self.faults.cut_off()
        super().restart()

    def looking(self):
        return self.faults.looking.connect()

    def finish(self):
        """A server that went is noticed by the first statement after it, so it starts anew."""
        self.restart()
        super().finish()
