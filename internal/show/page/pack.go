package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// pack encodes a value as JSON, compressed with gzip, in base64.
func pack(v any) (Packed, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("the page's data: %w", err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return Packed(base64.StdEncoding.EncodeToString(b.Bytes())), nil
}
