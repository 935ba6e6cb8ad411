//go:build linux

package kubetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// inNetwork runs f on a thread in a network namespace. The thread ends with f.
func inNetwork(space *os.File, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- os.NewSyscallError("setns", err)
			return
		}
		done <- f()
	}()
	return <-done
}

// Dial connects from the network namespace of the control plane. The address has an IP address, not a name. It fits
// client-go's rest.Config.Dial.
func (c *Cluster) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = inNetwork(c.network, func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// administrator is a client of the API server with the administrator's rights.
func (c *Cluster) administrator() (*http.Client, error) {
	pair, err := tls.X509KeyPair(c.admin.certificate, c.admin.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.keys.certificate)
	return &http.Client{Timeout: answer, Transport: &http.Transport{
		DialContext:     c.Dial,
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	}}, nil
}

// get asks the API server, as the administrator.
func (c *Cluster) get(path string) (status int, body []byte, err error) {
	q, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+apiAddress+path, nil)
	if err != nil {
		return 0, nil, err
	}
	r, err := c.client.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err = io.ReadAll(r.Body)
	return r.StatusCode, body, err
}

// read reads an object; found says whether it exists.
func (c *Cluster) read(path string, into any) (found bool, err error) {
	status, body, err := c.get(path)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusNotFound:
		return false, nil
	case status != http.StatusOK:
		return false, fmt.Errorf("%s: %d %s", path, status, body)
	}
	return true, json.Unmarshal(body, into)
}

// Network is the path of the network namespace of the control plane.
func (c *Cluster) Network() string { return fmt.Sprintf("/proc/%d/ns/net", c.processes.pid) }

// Command is a program, such as nearfar, in the network namespace of the control plane, which reaches the API server,
// the nodes and the pods. KUBECONFIG is set to the administrator's.
func (c *Cluster) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := c.processes.in(ctx, []string{"--net=" + c.Network()}, argv...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	return cmd
}

// KubectlPath is the path of kubectl, for commands that call it with a kubeconfig of a Forward.
func (c *Cluster) KubectlPath() string { return c.component("kubectl") }

// kubectl runs kubectl as the administrator, with a standard input, and returns its standard output.
func (c *Cluster) kubectl(input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	cmd := c.Command(ctx, append([]string{c.component("kubectl")}, args...)...)
	// No discovery cache in the caller's home.
	cmd.Env = append(cmd.Env, "HOME="+c.Folder)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// Kubectl runs kubectl as the administrator, and returns its standard output.
func (c *Cluster) Kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.kubectl("", args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// Try runs kubectl as Kubectl does. Its error has what kubectl said.
func (c *Cluster) Try(args ...string) (string, error) { return c.kubectl("", args...) }

// Apply applies objects, in YAML or JSON.
func (c *Cluster) Apply(objects string) {
	c.t.Helper()
	if err := c.apply(objects); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) apply(objects string) error {
	_, err := c.kubectl(objects, "apply", "-f", "-")
	return err
}
