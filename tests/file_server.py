"""Servers on this machine; a file server with failures on request."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LocalServer:
    """Runs a handler in a thread; the handler's `own` is the server.

    Attributes
    ----------
    url : str
    """

    def __init__(self, handler):
        handler = type("Handler", (handler,), {"own": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class FileServer(LocalServer):
    """Serves byte strings by their path, parts of them too.

    Attributes
    ----------
    files : dict of str to bytes
    requests : list of (str, str or None)
        Path and range of each request.
    cut : int or None
        Break the connection behind that many bytes.
    ranges, tags : bool
        Whether parts are served, and whether files have an ETag.
    """

    def __init__(self):
        self.files, self.requests = {}, []
        self.cut, self.ranges, self.tags = None, True, True
        super().__init__(_Handler)


class _Handler(BaseHTTPRequestHandler):
    own: FileServer

    def do_GET(self):
        path, requested = self.path.partition("?")[0], self.headers.get("Range")
        self.own.requests.append((path, requested))
        content = self.own.files.get(path)
        if content is None:
            self.send_error(404)
            return
        tag = f'"{hash(content)}"'
        start = int(requested.removeprefix("bytes=").rstrip("-")) if requested else 0
        if not self.own.ranges or self.headers.get("If-Range", tag) != tag:
            start = 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            last = len(content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        if self.own.tags:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(content[start:][: self.own.cut])

    def log_message(self, *args):
        pass
