"""`python -m tests.fix_acceptor --port P --dictionary FILE --sender ISLD --target TW44`

Our FIX session behind a socket, for acceptance scripts of other engines: `standard` rules, numbers reset at
every logon, application messages D, d and C sent back, a PossResend whose ClOrdID was seen dropped. Loopback
only. Says `listening on PORT` on stdout when it is ready; port 0 takes a free one.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from pregao.codecs.fix import parse_dictionary
from pregao.model.errors import PregaoError
from pregao.sessions.fix import SessionState
from tests.kits.fix_echo import EchoServer

READ_SIZE = 65_536
LONGEST_WAIT_S = 1.0
MAX_CONNECTIONS = 100


class Acceptor:
    def __init__(self, server: EchoServer) -> None:
        self.server = server
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        self.connections += 1
        try:
            if self.connections <= MAX_CONNECTIONS:
                await self._serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = self.server.connection()
        session.connect(time.time_ns())
        reading = asyncio.ensure_future(reader.read(READ_SIZE))
        try:
            while session.state is not SessionState.CUT:
                due = session.next_timeout()
                wait_s = LONGEST_WAIT_S if due is None else (due - time.time_ns()) / 1e9
                done, _ = await asyncio.wait({reading}, timeout=min(max(wait_s, 0.0), LONGEST_WAIT_S))
                now_ns = time.time_ns()
                if done:
                    data = reading.result()
                    events = session.receive(data, now_ns) if data else session.disconnected(now_ns)
                    reading = asyncio.ensure_future(reader.read(READ_SIZE))
                else:
                    events = session.on_timeout(now_ns)
                self.server.answer(session, events, now_ns)
                writer.write(session.data_to_send())
                await writer.drain()
        finally:
            reading.cancel()
            session.disconnected(time.time_ns())


async def run(options: argparse.Namespace) -> None:
    dictionary = parse_dictionary(Path(options.dictionary).read_bytes(), options.dictionary)
    acceptor = Acceptor(EchoServer(dictionary, options.sender, options.target))
    server = await asyncio.start_server(acceptor.serve, "127.0.0.1", options.port)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fix_acceptor", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--dictionary", required=True)
    parser.add_argument("--sender", default="ISLD")
    parser.add_argument("--target", default="TW44")
    try:
        asyncio.run(run(parser.parse_args()))
    except KeyboardInterrupt:
        return 0
    except (OSError, PregaoError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
