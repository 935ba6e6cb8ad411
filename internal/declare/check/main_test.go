package check

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// recorded is a machine from a file of testdata: its files, and the answers of its kernel in network.json.
type recorded struct {
	LinkList []struct {
		Link
		Statistics Statistics `json:"statistics"`
	} `json:"links"`
	Drivers map[string]Details           `json:"drivers"`
	Routes  map[netip.Addr]recordedRoute `json:"routes"`
	Own     map[string]map[string]uint64 `json:"counters"`
	// Service is what the metadata service answered; see README.md.
	Service map[string]string `json:"-"`
}

type recordedRoute struct {
	Route
	MTU int `json:"path_mtu"`
}

func (r *recorded) Links() ([]Link, error) {
	var all []Link
	for _, l := range r.LinkList {
		l.Link.Statistics = l.Statistics
		l.Link.Statistics.Known = true
		all = append(all, l.Link)
	}
	return all, nil
}

func (r *recorded) Details(device string) Details { return r.Drivers[device] }

func (r *recorded) Route(to netip.Addr) (Route, int, error) {
	found, ok := r.Routes[to]
	if !ok {
		return Route{}, 0, fs.ErrNotExist
	}
	return found.Route, found.MTU, nil
}

func (r *recorded) Counters(device string) (map[string]uint64, error) {
	if !ownCounters(r.Drivers[device].Driver) {
		return nil, nil
	}
	return r.Own[device], nil
}

// readRecorded reads a machine of testdata.
func readRecorded(t *testing.T, name string) (Source, *recorded) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files, r := fstest.MapFS{}, &recorded{Service: map[string]string{}}
	for _, f := range archive.Files {
		switch {
		case f.Name == "network.json":
			if err := json.Unmarshal(f.Data, r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		case strings.HasPrefix(f.Name, "metadata/"):
			r.Service[strings.TrimPrefix(f.Name, "metadata")] = strings.TrimSuffix(string(f.Data), "\n")
		default:
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return Source{Files: files, Network: r}, r
}

// replay answers as the services do, with recorded answers. It refuses requests without the header that the services
// require.
func replay(cloud string, answers map[string]string) http.Handler {
	const token = "recorded-token"
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		refused := false
		switch cloud {
		case CloudAzure:
			refused = q.Header.Get("Metadata") != "true"
		case CloudGCP:
			refused = q.Header.Get("Metadata-Flavor") != "Google"
		case CloudAWS:
			if q.Method == http.MethodPut && q.URL.Path == "/latest/api/token" {
				_, _ = w.Write([]byte(token))
				return
			}
			refused = q.Header.Get("X-Aws-Ec2-Metadata-Token") != token
		}
		answer, ok := answers[q.URL.Path]
		switch {
		case refused:
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(answer))
		}
	})
}
