package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/show/export"
)

const (
	// pushLimit bounds a push, with all that a slow gateway does.
	pushLimit = 30 * time.Second
	// maxPushReply is how much of a refusal is shown, in bytes.
	maxPushReply = 1000
)

// checkPush checks --push before anything is read.
func checkPush(o reportOptions) error {
	if o.push == "" {
		return nil
	}
	if o.format != export.PrometheusText || o.file != "" {
		return usagef("--push sends what -f %s writes, and to no file: give it with -f %[1]s and without -o",
			export.PrometheusText)
	}
	address, err := url.Parse(o.push)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return usagef("--push %s: write the address with its group, such as "+
			"http://pushgateway:9091/metrics/job/nearfar", clean.Quote(o.push))
	}
	return nil
}

// pushMetrics puts figures in the place of all others of a group of a Pushgateway
// (https://github.com/prometheus/pushgateway, PUT method).
func (a *app) pushMetrics(ctx context.Context, address string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pushLimit)
	defer cancel()
	size := text.Len()
	q, err := http.NewRequestWithContext(ctx, http.MethodPut, address, &text)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", export.PrometheusType)
	q.Header.Set("User-Agent", "nearfar")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return fmt.Errorf("the figures were not pushed: %w", err)
	}
	defer func() { _ = r.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(r.Body, maxPushReply))
	if r.StatusCode/100 != 2 {
		return fmt.Errorf("the figures were not pushed: %s: %s %s", clean.Line(q.URL.Redacted()), clean.Line(r.Status),
			clean.Line(string(said)))
	}
	if err != nil {
		return fmt.Errorf("whether the figures were pushed is unknown: %w", err)
	}
	fmt.Fprintf(a.stderr, "nearfar: pushed %d bytes to %s\n", size, clean.Line(q.URL.Redacted()))
	return nil
}
