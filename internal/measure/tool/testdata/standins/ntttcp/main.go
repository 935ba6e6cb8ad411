// Command ntttcp is a stand-in for Microsoft's ntttcp: with -ns for the Windows variant, with -N for the Linux variant.
// It takes the options that nearfar gives, moves real bytes over TCP, and prints in the variant's format. It is no
// measuring program: its figures say how fast the stand-in is.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// options are the options of both variants.
type options struct {
	sender, ofWindows bool
	address           string
	connections, port int
	size              int
	warmup, window    time.Duration
	cooldown          time.Duration
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-?" {
		fmt.Print("Copyright Version 5.39\r\n\r\nVersion 5.39\r\n\r\nNTttcp: [-s|-r|...] -m <mappings>\r\n")
		os.Exit(1)
	}
	o, err := read(os.Args[1:])
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Println("ERROR:", err)
		os.Exit(1)
	}
}

// read reads the options. Each but -s, -r, -6 and those for no synchronisation has a value.
func read(args []string) (o options, err error) {
	o = options{port: 5001, size: 64 << 10}
	for len(args) > 0 {
		name := args[0]
		args = args[1:]
		switch name {
		case "-s":
			o.sender = true
			continue
		case "-ns":
			o.ofWindows = true
			continue
		case "-r", "-N", "-6":
			continue
		}
		if len(args) == 0 {
			return o, fmt.Errorf("option %s has no value", name)
		}
		value := args[0]
		args = args[1:]
		n, wrong := strconv.Atoi(value)
		switch name {
		case "-m":
			parts := strings.SplitN(value, ",", 3)
			if len(parts) != 3 {
				return o, fmt.Errorf("%s is no mapping", value)
			}
			o.connections, wrong = strconv.Atoi(parts[0])
			o.address = parts[2]
		case "-p":
			o.port = n
		case "-l", "-b":
			o.size = n
		case "-t":
			o.window = time.Duration(n) * time.Second
		case "-wu", "-W":
			o.warmup = time.Duration(n) * time.Second
		case "-cd", "-C":
			o.cooldown = time.Duration(n) * time.Second
		default:
			return o, fmt.Errorf("the stand-in for ntttcp does not know option %s", name)
		}
		if wrong != nil {
			return o, fmt.Errorf("option %s: %w", name, wrong)
		}
	}
	if o.connections < 1 || o.window <= 0 {
		return o, errors.New("-m or -t is missing")
	}
	return o, nil
}

// run makes the connections, moves bytes for warm-up, window and cool-down, and prints what moved in the window.
func run(o options) error {
	if o.ofWindows {
		fmt.Print("Copyright Version 5.39\r\n")
	} else {
		fmt.Print("NTTTCP for Linux 1.4.0\n---------------------------------------------------------\n")
	}
	conns, err := connect(o)
	if err != nil {
		return err
	}
	if o.ofWindows {
		fmt.Print("Network activity progressing...\r\n")
	} else {
		fmt.Printf("%s INFO: Starting sender activity (no sync) ...\n", time.Now().Format("15:04:05"))
	}
	var moved atomic.Int64
	var all sync.WaitGroup
	for _, conn := range conns {
		all.Go(func() {
			buffer := make([]byte, o.size)
			for {
				move := conn.Read
				if o.sender {
					move = conn.Write
				}
				n, err := move(buffer)
				moved.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
	}
	time.Sleep(o.warmup)
	before, begin := moved.Load(), time.Now()
	time.Sleep(o.window)
	bytes, took := moved.Load()-before, time.Since(begin)
	time.Sleep(o.cooldown)
	for _, conn := range conns {
		conn.Close()
	}
	all.Wait()
	if o.ofWindows {
		printWindows(o, bytes, took.Seconds())
	} else {
		printLinux(o, bytes, took.Seconds())
	}
	return nil
}

// connect makes one connection to each port, or accepts one on each.
func connect(o options) ([]net.Conn, error) {
	var listeners []net.Listener
	for i := range o.connections {
		if o.sender {
			break
		}
		l, err := net.Listen("tcp", net.JoinHostPort(o.address, strconv.Itoa(o.port+i)))
		if err != nil {
			return nil, err
		}
		defer l.Close()
		listeners = append(listeners, l)
	}
	var conns []net.Conn
	for i := range o.connections {
		var conn net.Conn
		var err error
		if o.sender {
			conn, err = net.Dial("tcp", net.JoinHostPort(o.address, strconv.Itoa(o.port+i)))
		} else {
			conn, err = listeners[i].Accept()
		}
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func printWindows(o options, bytes int64, seconds float64) {
	const meg = 1 << 20
	rate := float64(bytes) / seconds
	var b strings.Builder
	b.WriteString("\n\nThread  Time(s) Throughput(KB/s) Avg B / Compl\n======  ======= ================ =============\n")
	for i := range o.connections {
		fmt.Fprintf(&b, "%6d %8.3f %16.3f %13.3f\n", i, seconds, rate/1024/float64(o.connections), float64(o.size))
	}
	fmt.Fprintf(&b, "\n\n#####  Totals:  #####\n\n\n   Bytes(MEG)    realtime(s) Avg Frame Size Throughput(MB/s)\n"+
		"================ =========== ============== ================\n%16.6f %11.3f %14.3f %16.3f\n",
		float64(bytes)/meg, seconds, 1460.0, rate/meg)
	fmt.Fprintf(&b, "\n\nThroughput(Buffers/s) Cycles/Byte       Buffers\n"+
		"===================== =========== =============\n%21.3f %11.3f %13.3f\n",
		rate/float64(o.size), 1.0, float64(bytes)/float64(o.size))
	fmt.Fprintf(&b, "\n\nDPCs(count/s) Pkts(num/DPC)   Intr(count/s) Pkts(num/intr)\n"+
		"============= ============= =============== ==============\n%13.3f %13.3f   %13.3f  %13.3f\n", 1.0, 1.0, 1.0, 1.0)
	fmt.Fprintf(&b, "\n\nPackets Sent Packets Received Retransmits Errors Avg. CPU %%\n"+
		"============ ================ =========== ====== ==========\n%12d %16d %11d %6d %10.3f\n",
		bytes/1460, 0, 7, 0, 12.5)
	fmt.Print(strings.ReplaceAll(b.String(), "\n", "\r\n"))
}

func printLinux(o options, bytes int64, seconds float64) {
	now := time.Now().Format("15:04:05") + " INFO: "
	gbps := float64(bytes) * 8 / seconds / 1e9
	fmt.Printf("%s Thread  Time(s) Throughput\n%s ======  ======= ==========\n", now, now)
	for i := range o.connections {
		fmt.Printf("%s %d        %.2f   %.2fGbps\n", now, i, seconds, gbps/float64(o.connections))
	}
	fmt.Printf("---------------------------------------------------------\n%s#####  Totals:  #####\n"+
		"%stest duration    :%.2f seconds\n%stotal bytes      :%d\n%s  throughput     :%.2fGbps\n"+
		"%stotal cpu time   :50.00%%\n",
		now, now, seconds, now, bytes, now, gbps, now)
}
