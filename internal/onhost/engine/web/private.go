package web

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// MaxPrivate limits what Private is on the wire, in bytes.
const MaxPrivate = 1 << 20

// Private is what a client needs for a service of the user's and what nobody else may see. It travels on standard
// input, as one JSON object.
type Private struct {
	// Headers are by name.
	Headers map[string]string `json:"headers,omitempty"`
	// CA has the certificates that sign the service's, and Certificate the client's with its key; both in PEM.
	CA          []byte `json:"ca,omitempty"`
	Certificate []byte `json:"certificate,omitempty"`
}

// ReadPrivate reads it. Its errors have nothing of what was read.
func ReadPrivate(r io.Reader) (p Private, err error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxPrivate+1))
	switch {
	case err != nil:
		return p, fmt.Errorf("reading standard input: %w", err)
	case len(text) > MaxPrivate:
		return p, fmt.Errorf("standard input has more than %d bytes", MaxPrivate)
	case len(text) > 0 && json.Unmarshal(text, &p) != nil:
		return Private{}, errors.New("standard input is not what a plan gives")
	}
	return p, nil
}

// Into adds headers and certificates to the options.
func (p Private) Into(o *Options) error {
	o.Header = http.Header{}
	for name, value := range p.Headers {
		o.Header.Set(name, value)
		o.Secrets = append(o.Secrets, value)
	}
	if err := CheckHeader(o.Header); err != nil {
		return err
	}
	if len(p.CA) == 0 && len(p.Certificate) == 0 {
		return nil
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(p.CA) > 0 {
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(p.CA) {
			return errors.New("the file of ca has no certificate in PEM")
		}
	}
	if len(p.Certificate) > 0 {
		pair, err := tls.X509KeyPair(p.Certificate, p.Certificate)
		if err != nil {
			return errors.New("the file of the client's certificate does not have a certificate and its key in PEM")
		}
		o.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}
