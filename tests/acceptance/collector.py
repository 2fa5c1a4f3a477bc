"""A collector of traces: takes OTLP over HTTP as any would, and keeps what it was told."""

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Collector:
    """What was told, and where to tell it."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.spans = []
        self.services = set()

    def take(self, request):
        for resource in request.resource_spans:
            self.services |= {
                one.value.string_value
                for one in resource.resource.attributes
                if one.key == "service.name"
            }
            for scope in resource.scope_spans:
                self.spans += scope.spans

    def of(self, trace_id):
        """The spans of a trace, by their ids."""
        return {one.span_id.hex(): one for one in self.spans if one.trace_id.hex() == trace_id}


@contextmanager
def collecting():
    """Run a collector on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            assert self.headers["content-type"] == "application/x-protobuf"
            collector.take(ExportTraceServiceRequest.FromString(body))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join(10)
