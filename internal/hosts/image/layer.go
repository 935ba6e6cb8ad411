package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a layer in memory. The library's own layers would be compressed again for each use, and an environment
// variable could change their bytes.
type layer struct {
	// about says what the layer is, for the image's history.
	about             string
	plain, compressed []byte
	diffID, digest    v1.Hash
}

// newLayer makes a layer with these files.
func newLayer(about string, files []file) (*layer, error) {
	l := &layer{about: about}
	var plain, compressed bytes.Buffer
	if err := writeFiles(&plain, files); err != nil {
		return nil, err
	}
	z := gzip.NewWriter(&compressed) // without name and time
	if _, err := z.Write(plain.Bytes()); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	l.plain, l.compressed = plain.Bytes(), compressed.Bytes()
	var err error
	if l.diffID, _, err = v1.SHA256(bytes.NewReader(l.plain)); err != nil {
		return nil, err
	}
	l.digest, _, err = v1.SHA256(bytes.NewReader(l.compressed))
	return l, err
}

// Digest is the hash of the compressed layer.
func (l *layer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID is the hash of the uncompressed layer.
func (l *layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// Compressed reads the compressed layer.
func (l *layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.compressed)), nil
}

// Uncompressed reads the layer as a tar archive.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.plain)), nil
}

// Size is the size of the compressed layer in bytes.
func (l *layer) Size() (int64, error) { return int64(len(l.compressed)), nil }

// MediaType is the type of a gzipped tar archive.
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// file is an entry of a tar archive. Folders have no content, and a name that ends in a slash.
type file struct {
	name    string
	mode    int64
	content []byte
	// records are extended attributes of the entry (PAX); nil for none.
	records map[string]string
}

// writeFiles writes a tar archive with fixed times and owner root.
func writeFiles(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created(),
			Format: tar.FormatUSTAR,
		}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if f.records != nil {
			h.Format, h.PAXRecords = tar.FormatPAX, f.records
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

// linuxLayers is one layer with the agent and a folder for temporary files.
func linuxLayers(agent []byte) ([]*layer, error) {
	l, err := newLayer("the agent", []file{
		{name: linuxProgram, mode: 0o755, content: agent},
		{name: "tmp/", mode: 0o1777},
	})
	return []*layer{l}, err
}

// Folders of the image of nearfar: where nearfar is, and where it runs and writes its runs. It is not in the root,
// because pods of a run have a volume at /nearfar.
const (
	programFolder = "bin"
	workFolder    = "work"
)

// withNearfar adds a layer with nearfar and its folder.
func withNearfar(layers []*layer, nearfar []byte) ([]*layer, error) {
	l, err := newLayer("nearfar", []file{
		{name: programFolder + "/", mode: 0o755},
		{name: programFolder + "/" + Nearfar, mode: 0o755, content: nearfar},
		{name: workFolder + "/", mode: 0o1777},
	})
	return append(layers, l), err
}
