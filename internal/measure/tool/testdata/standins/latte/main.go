// Command latte is a stand-in for Microsoft's latte, which runs on Windows only. It takes the options that nearfar
// gives, makes real round trips over TCP or UDP, and prints in latte's format. It is no measuring program: its figures
// say how fast the stand-in is.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	client := flag.Bool("c", false, "be the client")
	address := flag.String("a", "", "address and port of the server")
	seconds := flag.Int("t", 0, "seconds to run for")
	iterations := flag.Int("i", 0, "round trips to make, instead of -t")
	size := flag.Int("m", 4, "bytes of a message")
	udp := flag.Bool("udp", false, "UDP instead of TCP")
	flag.Parse()
	if flag.NArg() > 0 || *address == "" || *size < 4 || *seconds == 0 == (*iterations == 0) {
		fmt.Println("Error: the stand-in for latte takes [-c] -a ADDR:PORT (-t S | -i N) [-m B] [-udp]")
		os.Exit(1)
	}
	network := "tcp"
	if *udp {
		network = "udp"
	}
	run := serve
	if *client {
		run = measure
	}
	if err := run(network, *address, *size, *iterations, time.Duration(*seconds)*time.Second); err != nil {
		fmt.Println("Error:", err)
		os.Exit(1)
	}
}

// serve answers one client until it goes, or until the time is over.
func serve(network, address string, size, _ int, _ time.Duration) error {
	buffer := make([]byte, size)
	if network == "udp" {
		conn, err := net.ListenPacket(network, address)
		if err != nil {
			return err
		}
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil || n < size { // a short datagram is the client's last
				return err
			}
			if _, err := conn.WriteTo(buffer[:n], from); err != nil {
				return err
			}
		}
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	for {
		if _, err := io.ReadFull(conn, buffer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := conn.Write(buffer); err != nil {
			return err
		}
	}
}

// measure makes round trips, one at a time, and prints their mean.
func measure(network, address string, size, iterations int, length time.Duration) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	buffer, made, begin := make([]byte, size), 0, time.Now()
	for iterations > 0 && made < iterations || iterations == 0 && time.Since(begin) < length {
		if _, err := conn.Write(buffer); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, buffer); err != nil {
			return err
		}
		made++
	}
	took := time.Since(begin)
	if network == "udp" {
		if _, err := conn.Write(buffer[:1]); err != nil {
			return err
		}
	}
	fmt.Printf("Protocol      %s\r\nSendMethod    Blocking\r\nReceiveMethod Blocking\r\nSO_SNDBUF     Default\r\n"+
		"SO_RCVBUF     Default\r\nMsgSize(byte) %d\r\nIterations    %d\r\nLatency(usec) %.2f\r\nCPU(%%)        0.0\r\n",
		strings.ToUpper(network), size, made, float64(took.Microseconds())/float64(made))
	return nil
}
