package kubeclient

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// client-go logs an error when an exec stream ends, and when a ping of a WebSocket fails. Nothing of it is printed.
func TestLibraryPrintsNothing(t *testing.T) {
	const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: lab, context: {cluster: c, user: u}}]
`
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Config(file, "lab"); err != nil {
		t.Fatal(err)
	}
	printed, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(before *os.File) { os.Stderr = before }(os.Stderr)
	os.Stderr = printed
	failure := errors.New("the stream ended")
	utilruntime.HandleError(failure)
	utilruntime.HandleErrorWithContext(context.Background(), failure, "Unhandled Error")
	klog.FromContext(context.Background()).Error(failure, "Websocket Ping failed")
	klog.Errorf("%v", failure)
	klog.Warning(failure)
	klog.Info("connected")
	klog.Flush()
	if err := printed.Close(); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(printed.Name())
	if err != nil || len(got) > 0 {
		t.Errorf("printed %q, %v", got, err)
	}
}
