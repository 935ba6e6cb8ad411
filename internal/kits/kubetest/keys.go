//go:build linux

package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An authority signs the certificates of one cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// pem is the certificate.
	pem []byte
}

// credentials are a certificate and its key, in PEM.
type credentials struct{ certificate, key []byte }

// lifetime is longer than any test.
const lifetime = 24 * time.Hour

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubetest"},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:  x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lifetime),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key, block("CERTIFICATE", der)}, nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// sign makes a certificate for a user of the API and his group, if that is not empty; with names, for a server with
// these names and addresses.
func (a *authority) sign(user, group string, names ...string) (*credentials, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: user}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:   a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, name := range names {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &credentials{block("CERTIFICATE", der), block("PRIVATE KEY", private)}, nil
}

// save writes the certificate and the key into a folder.
func (k *credentials) save(folder, name string) error {
	if err := os.WriteFile(filepath.Join(folder, name+".crt"), k.certificate, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".key"), k.key, 0o600)
}

// kubeconfig is a kubeconfig with these credentials. JSON is YAML.
func (a *authority) kubeconfig(k *credentials) []byte {
	type object = map[string]any
	const name = "kubetest"
	// Bytes become base64, as the format asks for.
	b, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{
			"server": "https://" + apiAddress, "certificate-authority-data": a.pem,
		}}},
		"users": []object{{"name": name, "user": object{
			"client-certificate-data": k.certificate, "client-key-data": k.key,
		}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
	}, "", " ")
	if err != nil {
		panic(err) // maps of strings and bytes
	}
	return b
}
