"""An HTTP server on the loopback that takes what a monitor sends, or does not. Prints its port, then writes a line for each
request: the path, the size of its body, the status answered.

usage: receiver.py HOW LOG, where HOW is one of
  ok        200 to everything
  hang      never answers
  garbage   bytes that are no HTTP
  429       429 with Retry-After: 1, always
  503       503 to the first two of each path, then 200
  400       400, always
"""
import http.server
import socketserver
import sys
import threading

HOW, LOG = sys.argv[1], open(sys.argv[2], "a", buffering=1)
SEEN = {}
NEVER = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def status(self):
        SEEN[self.path] = SEEN.get(self.path, 0) + 1
        if HOW == "503":
            return 503 if SEEN[self.path] <= 2 else 200
        return {"ok": 200, "429": 429, "400": 400}.get(HOW, 0)

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(size)
        status = self.status()
        LOG.write(f"{self.path} {size} {status}\n")
        if HOW == "hang":
            NEVER.wait()
        if HOW == "garbage":
            self.wfile.write(b"\x16\x03\x01\x00\xff not http \x1b[31m\r\n\r\n")
            self.close_connection = True
            return
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
sys.stdout.close()
server.serve_forever()
