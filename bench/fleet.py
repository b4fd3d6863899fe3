"""The hour that a reliability engineer would try before a roll-out: bench/soak --fleet [SECONDS] (POOL=5000).

A monitor that knows its targets by name, while: every second a container of one of two images starts (an overlay in namespaces of its
own), and five programs of a pool of 5,000 different ones, so that about 50 run at a time; strangers call the same functions; every 10 s
the configuration changes (functions come and go, thresholds, targets); a receiver of OTLP fails in turns. One client scrapes the page
every second and remembers every counter that it ever saw. Between changes a process starts that calls what a target calls and is a target
itself every other 20 s: its calls count then, and never otherwise. Printed at the end: the calls that were made, counted and named as lost; how
often a counter went back; the memory of the monitor in each quarter; its CPU time; how long the client waited for a page.
"""
import http.client, http.server, json, os, random, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
POOL, STARTS, LIFE_MS, CALLS = int(os.environ.get("POOL", 5000)), 5, 9000, 20
top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
funcscope = os.environ.get("FUNCSCOPE", top + "/build/funcscope")
base = tempfile.mkdtemp(prefix="soak")
config, ctl = base + "/snoop.json", base + "/ctl"
random.seed(1)

ENTER = """set -e
mkdir "$1/upper" "$1/work"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
pivot_root . old
exec /bin/soak-contained "$3" "$4"
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


page_port, otlp_port = free_port(), free_port()


def make_programs():
    subprocess.check_call(["gcc", "-O2", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fcf-protection=none",
                           "-fno-stack-protector", "-o", base + "/soaker", top + "/bench/soaker.c"])
    os.mkdir(base + "/pool")
    for image in ("a", "b"):
        for d in ("bin", "old", "proc"):
            os.makedirs("%s/image-%s/%s" % (base, image, d))
        copy_program("%s/image-%s/bin/soak-contained" % (base, image), "image " + image)


def copy_program(to, mark):
    shutil.copy(base + "/soaker", to)
    with open(to, "ab") as f:
        f.write(mark.encode())


def program(n):
    path = "%s/pool/soak-%04d" % (base, n)
    if not os.path.exists(path):
        copy_program(path, str(n))
    return path


def takes_maybe(n):
    return n % 4 >= 2


def configure(n):
    functions = {"work": {"symbol": "work", "library": "soak-*"}}
    if n % 2:
        functions["other"] = {"symbol": "other", "library": "soak-*"}
    c = {"custom_sym": functions, "slow": "%dms" % (1 + n % 3), "warnings": 0, "report": {"every": "0"},
         "targets": {"names": ["soak-*"] + (["maybe-*"] if takes_maybe(n) else [])},
         "prometheus": {"listen": "127.0.0.1:%d" % page_port}, "control": ctl,
         "otlp": {"endpoint": "http://127.0.0.1:%d" % otlp_port, "every": "5s"},
         "alertmanager": {"url": "http://127.0.0.1:%d" % otlp_port, "every": "5s"}}
    with open(config + ".new", "w") as f:
        json.dump(c, f)
    os.rename(config + ".new", config)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes everything, refuses, hangs up, or answers late: a quarter of a minute each."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        turn = int(time.monotonic() / 15) % 4
        if turn == 1:
            self.send_error(503)
            return
        if turn == 2:
            self.connection.close()
            return
        if turn == 3:
            time.sleep(2)
        self.send_response(200)
        self.end_headers()
        received.append(len(body))

    def log_message(self, *args):
        pass


received = []


class Scraper(threading.Thread):
    COUNTERS = re.compile(r"^(\w+(?:_total|_count|_sum|_bucket)(?:\{.*\})?) ([0-9.e+-]+)$")

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.back, self.n, self.longest, self.stop, self.failed, self.again = {}, [], 0, 0, False, 0, 0
        self.ended = set()

    def scrape(self):
        begun = time.monotonic()
        c = http.client.HTTPConnection("127.0.0.1", page_port, timeout=60)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        self.longest = max(self.longest, time.monotonic() - begun)
        self.n += 1
        calls, names = 0, {"the sum of all calls"}
        for line in text.splitlines():
            m = self.COUNTERS.match(line)
            if not m:
                continue
            name, value = m.group(1), float(m.group(2))
            if name.startswith("funcscope_call_duration_seconds_count"):
                calls += value
            names.add(name)
            self.check(name, value)
        # Series of past binaries end: what they counted goes on in those without a binary, and the next run of the program begins at 0.
        for name in self.seen.keys() - names:
            self.ended.add(name)
            del self.seen[name]
        self.check("the sum of all calls", calls)
        return text

    def check(self, name, value):
        if name in self.ended:
            self.ended.remove(name)
            self.again += "duration_seconds_count" in name
        if value < self.seen.get(name, 0):
            self.back.append("%s: %g after %g" % (name, value, self.seen[name]))
        self.seen[name] = value

    def run(self):
        while not self.stop:
            try:
                self.scrape()
            except (OSError, http.client.HTTPException):
                self.failed += 1
            time.sleep(1)


def rss():
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%d/status" % monitor.pid).read()).group(1)) / 1e3


def cpu():
    f = open("/proc/%d/stat" % monitor.pid).read().rsplit(")", 1)[1].split()
    return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")


class Fleet:
    def __init__(self):
        self.running, self.made, self.started, self.unprobed, self.n, self.containers = [], 0, 0, 0, 0, 0
        self.maybe, self.maybes, self.maybe_made = None, [0, 0], [0, 0]

    def start(self, argv, is_target, directory=None):
        p = subprocess.Popen(argv, stdout=subprocess.PIPE if is_target else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append((p, is_target, directory))

    def container(self):
        self.containers += 1
        d = "%s/c%d" % (base, self.containers)
        os.makedirs(d + "/root")
        self.start(["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", ENTER, "sh", d,
                    "%s/image-%s" % (base, "ab"[self.containers % 2]), str(CALLS), "2500"], True, d)

    def second(self):
        self.container()
        for _ in range(STARTS):
            self.start([program(self.n % POOL), str(CALLS), str(LIFE_MS)], True)
            self.n += 1
        # Calls what the programs call, and is no target.
        if self.n % 50 == 0:
            self.start([base + "/soaker", "1", "100"], False)
        self.reap(False)

    def start_maybe(self, n):
        """By another name, the program that was started last."""
        path = program((self.n - 1) % POOL)
        link = path.replace("soak-", "maybe-")
        os.link(path, link)
        self.maybe = subprocess.Popen([link, str(CALLS), "1000"], stdout=subprocess.PIPE), takes_maybe(n), link

    def end_maybe(self):
        if not self.maybe:
            return
        p, is_target, link = self.maybe
        made = int(p.communicate()[0] or 0)
        self.maybes[is_target] += 1
        self.maybe_made[is_target] += made
        self.made += made if is_target else 0
        os.unlink(link)
        self.maybe = None

    def reap(self, wait):
        left = []
        for p, is_target, d in self.running:
            if not wait and p.poll() is None:
                left.append((p, is_target, d))
                continue
            out = p.communicate()[0] if is_target else p.wait() and None
            if is_target:
                self.started += 1
                made = int(out or 0)
                self.made += made
                self.unprobed += not made
            if d:
                shutil.rmtree(d, ignore_errors=True)
        self.running = left


def ask(request):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(ctl)
        s.sendall(json.dumps({"request": request}).encode() + b"\n")
        text = b""
        while b'"type":"done"' not in text:
            text += s.recv(1 << 20)
    return [json.loads(line) for line in text.splitlines()]


def stats():
    rows = ask("stats")
    work = sum(r["count"] for r in rows if r["type"] == "latency" and r["function"] == "work")
    return work, [r for r in rows if r["type"] == "summary"][0]


make_programs()
configure(0)
http.server.ThreadingHTTPServer.daemon_threads = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", otlp_port), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
monitor = subprocess.Popen([funcscope, "snoop", "-c", config], stdout=subprocess.DEVNULL, stderr=open(base + "/log", "w"))
try:
    end = time.monotonic() + 60
    while not os.path.exists(ctl) or b"watching" not in open(base + "/log", "rb").read():
        if monitor.poll() is not None or time.monotonic() > end:
            sys.exit(open(base + "/log").read())
        time.sleep(0.05)
    scraper, fleet, memory, reloads, maybe_of = Scraper(), Fleet(), [], 0, 0
    scraper.start()
    begun, cpu_begun, next_reload = time.monotonic(), cpu(), 10
    while time.monotonic() - begun < seconds:
        at = time.monotonic()
        fleet.second()
        now = time.monotonic() - begun
        memory.append((now, rss()))
        if now > next_reload:
            fleet.end_maybe()
            next_reload += 10
            reloads += 1
            configure(reloads)
        elif now > next_reload - 7 and maybe_of < reloads and ask("status")[0]["reloads"] >= reloads:
            maybe_of = reloads
            fleet.start_maybe(reloads)
        time.sleep(max(0, 1 - (time.monotonic() - at)))
    took, used = time.monotonic() - begun, cpu() - cpu_begun
    fleet.end_maybe()
    fleet.reap(True)
    end = time.monotonic() + 30
    while True:  # the last ones have exited; those without a verdict get one
        counted, books = stats()
        if counted + sum(books.get("lost", {}).values()) >= fleet.made or time.monotonic() > end:
            break
        time.sleep(0.2)
    scraper.stop = True
    print("%d processes of %d programs, %d of them in containers, in %.0f s; %d were never probed"
          % (fleet.started, min(fleet.n, POOL) + 2, fleet.containers, took, fleet.unprobed))
    print("%d calls of work: %d counted; lost by name: %s" % (fleet.made, counted, json.dumps(books.get("lost", {}))))
    print("of these %d by %d processes that were targets only for a while; %d calls of %d like them, when they were none"
          % (fleet.maybe_made[1], fleet.maybes[1], fleet.maybe_made[0], fleet.maybes[0]))
    print("%d reloads, %d scrapes (%d failed, the longest took %.0f ms), counters that went back: %d"
          % (reloads, scraper.n, scraper.failed, 1e3 * scraper.longest, len(scraper.back)))
    print("series that ended and began again with another run of their program: %d" % scraper.again)
    for line in scraper.back[:10]:
        print("  " + line)
    for q in range(4):
        part = [m for t, m in memory if q * took / 4 <= t < (q + 1) * took / 4] or [0]
        print("resident in quarter %d: %.1f to %.1f MB" % (q + 1, min(part), max(part)))
    print("the monitor took %.2f %% of a core; %d messages received by the receiver that fails in turns" % (100 * used / took, len(received)))
    monitor.send_signal(signal.SIGINT)
    monitor.wait(60)
    for line in open(base + "/log").read().splitlines()[-12:]:
        print("log: " + line[:200])
finally:
    if monitor.poll() is None:
        monitor.kill()
    subprocess.call("pkill -f %s/" % base, shell=True)
    shutil.rmtree(base, ignore_errors=True)
