package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/host"
)

// execer runs commands in containers over WebSocket, or over SPDY if something on the way does not pass WebSocket on.
func execer(config *rest.Config, client api) func(
	context.Context, place, []string, remotecommand.StreamOptions,
) error {
	return func(ctx context.Context, at place, argv []string, streams remotecommand.StreamOptions) error {
		url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(at.namespace).Name(at.pod).
			SubResource("exec").VersionedParams(&corev1.PodExecOptions{
			Container: at.container, Command: argv, Stdin: streams.Stdin != nil, Stdout: streams.Stdout != nil,
			Stderr: streams.Stderr != nil,
		}, scheme.ParameterCodec).URL()
		overWebSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
		if err != nil {
			return err
		}
		overSPDY, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
		if err != nil {
			return err
		}
		executor, err := remotecommand.NewFallbackExecutor(overWebSocket, overSPDY, func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
		if err != nil {
			return err
		}
		return executor.StreamWithContext(ctx, streams)
	}
}

// A stream is the standard input and output of a command in a container.
//
// It is not trusted: the API server, the kubelet and proxies between cut it when they like, and it can end with the
// status 0 while the command runs.
type stream struct {
	at     place
	in     *io.PipeWriter
	out    *io.PipeReader
	stderr *host.Tail
	cancel context.CancelFunc
	ended  chan struct{} // closed when the exec request has ended; err is valid then
	err    error
}

// open starts a command. It returns at once: a failure to connect is the error of the first Read or Write.
func (c *Cluster) open(at place, argv []string) *stream {
	// The stream lives longer than the call that opens it.
	ctx, cancel := context.WithCancel(context.Background())
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	s := &stream{at: at, in: in, out: out, cancel: cancel, stderr: host.NewTail(maxTail), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		defer cancel()
		s.err = c.exec(ctx, at, argv, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: s.stderr})
		why := s.why()
		_ = stdin.CloseWithError(why)
		_ = stdout.CloseWithError(why)
	}()
	return s
}

// errStream is wrapped by the errors of a stream that ended.
var errStream = errors.New("the exec stream ended")

// why says how the stream ended. It wraps io.EOF if that was without an error.
func (s *stream) why() error {
	text := ""
	if lines := strings.TrimSpace(s.stderr.String()); lines != "" {
		text = ": " + clean.Line(lines)
	}
	return fmt.Errorf("pod %s: %w%s: %w", s.at.pod, errStream, text, cmp.Or(shortened(s.err), io.EOF))
}

func (s *stream) Read(p []byte) (int, error)  { return s.out.Read(p) }
func (s *stream) Write(p []byte) (int, error) { return s.in.Write(p) }

// Close ends the stream, and its Read and Write. It may be called twice.
func (s *stream) Close() error {
	s.cancel()
	_ = s.in.Close()
	_ = s.out.Close()
	return nil
}

// maxTail is how many bytes of messages are kept.
const maxTail = 2 << 10
