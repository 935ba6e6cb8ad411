#!/usr/bin/env python3
"""Compares nearfar's client of HTTP with fortio's and wrk's, in one run and on one CPU.

All ask the same server (fortio's own, or nearfar's), in turns, over connections that stay, each with one request after
the other. Printed are the ratios nearfar/other of p50, p99 and the rate: the median over the rounds, and from the
second smallest to the second largest (97.9 % for ten rounds). Both clients of fortio are compared: the one that it has
by default, which is no net/http, and with -stdclient the one that is. wrk is compared where it is given.

usage: bench/http.py NEARFAR FORTIO [--wrk WRK] [--server nearfar] [--concurrency 1] [--rounds 10] [--seconds 2]
                     [--cpu 0]
"""
import argparse
import json
import re
import socket
import statistics
import subprocess
import sys
import time

PORT = 18080
URL = f"http://127.0.0.1:{PORT}/echo?size=1024"


def nearfar(options):
    out = subprocess.run(
        [*options.pin, options.nearfar, "engine", "http", "--to", URL, "-f", "json", "--warmup", "300ms",
         "--concurrency", str(options.concurrency), "--duration", f"{options.seconds}s"],
        check=True, capture_output=True, text=True).stdout
    result = json.loads(out.splitlines()[-1])
    figures = {(m["name"], m["stat"]): m["value"] for m in result["metrics"] if not m.get("scope")}
    return {"p50": figures["response_time", "p50"], "p99": figures["response_time", "p99"],
            "rate": figures["transaction_rate", ""]}


def fortio(options, *more):
    out = subprocess.run(
        [*options.pin, options.fortio, "load", "-c", str(options.concurrency), "-qps", "0", "-t",
         f"{options.seconds}s", "-r", "0.000001", "-p", "50,99", "-quiet", "-loglevel", "Error", "-json", "-", *more,
         URL],
        check=True, capture_output=True, text=True).stdout
    result = json.loads(out)
    of = {p["Percentile"]: p["Value"] for p in result["DurationHistogram"]["Percentiles"]}
    return {"p50": of[50], "p99": of[99], "rate": result["ActualQPS"]}


def wrk(options):
    out = subprocess.run(
        [*options.pin, options.wrk, "-t", "1", "-c", str(options.concurrency), "-d", f"{options.seconds}s", "--latency",
         URL], check=True, capture_output=True, text=True).stdout
    units = {"us": 1e-6, "ms": 1e-3, "s": 1}
    of = {p: float(value) * units[unit] for p, value, unit in re.findall(r"^ +(\d+)% +([\d.]+)(us|ms|s)$", out, re.M)}
    return {"p50": of["50"], "p99": of["99"], "rate": float(re.search(r"^Requests/sec: +([\d.]+)$", out, re.M)[1])}


def await_server():
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", PORT), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("the server does not listen")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nearfar")
    parser.add_argument("fortio")
    parser.add_argument("--wrk")
    parser.add_argument("--server", choices=["fortio", "nearfar"], default="fortio")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--cpu", default="0", help="the CPU of both sides; two with a comma for one each")
    options = parser.parse_args()
    cpus = options.cpu.split(",")
    options.pin = ["taskset", "-c", cpus[0]]
    at = f"127.0.0.1:{PORT}"
    command = [options.nearfar, "engine", "web", "--listen", at, "--response", "1024B"]
    if options.server == "fortio":
        command = [options.fortio, "server", "-http-port", at, "-grpc-port", "disabled", "-tcp-port", "disabled",
                   "-udp-port", "disabled", "-redirect-port", "disabled", "-loglevel", "Error"]
    clients = {"fortio": fortio, "fortio -stdclient": lambda options: fortio(options, "-stdclient")}
    if options.wrk:
        clients["wrk"] = wrk
    server = subprocess.Popen(["taskset", "-c", cpus[-1], *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        await_server()
        rounds = [(nearfar(options), *(ask(options) for ask in clients.values())) for _ in range(options.rounds)]
    finally:
        server.terminate()
        server.wait()
    print(f"{options.rounds} rounds of {options.seconds} s, CPU {options.cpu}, {options.concurrency} connections, "
          f"server {options.server}")
    for at, name in enumerate(clients, 1):
        for figure in ("p50", "p99", "rate"):
            ratios = sorted(r[0][figure] / r[at][figure] for r in rounds)
            ours = statistics.median(r[0][figure] for r in rounds)
            theirs = statistics.median(r[at][figure] for r in rounds)
            shown = "%.0f/s %.0f/s" % (ours, theirs)
            if figure != "rate":
                shown = "%.1f us %.1f us" % (ours * 1e6, theirs * 1e6)
            print(f"{name:18} {figure:5} {statistics.median(ratios):6.3f}  {ratios[min(1, len(ratios) - 1)]:.3f} to "
                  f"{ratios[max(-2, -len(ratios))]:.3f}   {shown}")


if __name__ == "__main__":
    main()
