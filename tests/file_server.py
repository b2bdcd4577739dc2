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
    """Serves byte strings by their path.

    Attributes
    ----------
    files : dict of str to bytes
    requests : list of str
        Path of each request.
    cut : int or None
        Break the connection after that many bytes.
    """

    def __init__(self):
        self.files, self.requests, self.cut = {}, [], None
        super().__init__(_Handler)


class _Handler(BaseHTTPRequestHandler):
    own: FileServer

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.own.requests.append(path)
        content = self.own.files.get(path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.own.cut])

    def log_message(self, *args):
        pass
