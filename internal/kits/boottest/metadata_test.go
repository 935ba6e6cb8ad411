//go:build linux

package boottest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A metadataService answers as the metadata service of a cloud, and refuses what that refuses. It knows its machines by
// their addresses. Paths, headers and refusals are those of the clouds' documentation:
//
//   - Azure: "Azure Instance Metadata Service" (Metadata: true, api-version, no X-Forwarded-For), and for the wire
//     server the open source of Azure's agent (azurelinuxagent/common/protocol/wire.py: x-ms-version,
//     x-ms-agent-name, GoalState, Health);
//   - EC2: "Use IMDSv2" and "Instance metadata categories" (a token by PUT, which all other requests must show);
//   - Google: "VM metadata" (Metadata-Flavor: Google in requests and answers, recursive=true).
type metadataService struct {
	cloud string

	mu       sync.Mutex
	machines map[string]*cloudMachine // by address
	requests []string
}

// A cloudMachine is what a metadata service knows of a machine.
type cloudMachine struct {
	documents map[string]string
	token     string
	// ready says that the machine has told Azure that it is.
	ready bool
}

// ServeHTTP answers a request, and notes it.
func (s *metadataService) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	address, _, _ := strings.Cut(q.RemoteAddr, ":")
	recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	s.mu.Lock()
	m := s.machines[address]
	s.mu.Unlock()
	switch {
	case m == nil:
		http.Error(recorder, "no machine has this address", http.StatusNotFound)
	case q.Header.Get("X-Forwarded-For") != "":
		http.Error(recorder, "proxies are refused", http.StatusForbidden)
	case s.cloud == "azure" && strings.HasPrefix(q.URL.Path, "/machine"):
		s.wireServer(recorder, q, m)
	case s.cloud == "azure":
		azure(recorder, q, m)
	case s.cloud == "aws":
		s.ec2(recorder, q, m)
	case s.cloud == "gcp":
		google(recorder, q, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s %s %d", address, q.Method, q.URL.RequestURI(), recorder.status))
}

// statusRecorder keeps the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader keeps the status.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// azureVersions are versions of Azure's interface: those that the clients of the tests may ask for.
func azureVersions() []string {
	return []string{"2019-06-01", "2021-02-01", "2021-08-01", "2023-07-01"}
}

// azure answers /metadata/instance and what is below it, as JSON.
func azure(w http.ResponseWriter, q *http.Request, m *cloudMachine) {
	refuse := func(text string) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "{\"error\": %q}", text)
	}
	switch {
	case q.Header.Get("Metadata") != "true":
		refuse("Bad request. Required metadata header not specified")
		return
	case !slices.Contains(azureVersions(), q.URL.Query().Get("api-version")):
		refuse("Bad request. api-version is invalid or was not specified in the request.")
		return
	}
	text, found := m.documents[strings.TrimSuffix(q.URL.Path, "/")]
	if !found {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// wireServer answers with the goal of a machine, and takes its state.
func (s *metadataService) wireServer(w http.ResponseWriter, q *http.Request, m *cloudMachine) {
	if q.Header.Get("X-Ms-Version") != "2012-11-30" || q.Header.Get("X-Ms-Agent-Name") == "" {
		http.Error(w, "x-ms-version or x-ms-agent-name is missing", http.StatusBadRequest)
		return
	}
	const container, instance = "6b3fc8a5-5dbb-4a4c-9b4e-b1d7ae39d82f", "vm.instance.1"
	switch q.Method + " " + q.URL.Query().Get("comp") {
	case "GET goalstate":
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?>
<GoalState xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="goalstate10.xsd">
  <Version>2012-11-30</Version>
  <Incarnation>1</Incarnation>
  <Machine><ExpectedState>Started</ExpectedState></Machine>
  <Container>
    <ContainerId>%s</ContainerId>
    <RoleInstanceList><RoleInstance><InstanceId>%s</InstanceId><State>Started</State></RoleInstance></RoleInstanceList>
  </Container>
</GoalState>
`, container, instance)
	case "POST health":
		text, err := io.ReadAll(io.LimitReader(q.Body, 1<<16))
		for _, want := range []string{"<GoalStateIncarnation>1<", container, instance, "<State>Ready</State>"} {
			if err != nil || !strings.Contains(string(text), want) {
				http.Error(w, "the report lacks "+want, http.StatusBadRequest)
				return
			}
		}
		s.mu.Lock()
		m.ready = true
		s.mu.Unlock()
	default:
		http.NotFound(w, q)
	}
}

// ec2 answers with a token, and with what is below meta-data, dynamic and user-data to those who show it.
func (s *metadataService) ec2(w http.ResponseWriter, q *http.Request, m *cloudMachine) {
	s.mu.Lock()
	token := m.token
	s.mu.Unlock()
	switch {
	case q.Method == http.MethodPut && q.URL.Path == "/latest/api/token":
		seconds, err := strconv.Atoi(q.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
		if err != nil || seconds < 1 || seconds > 21600 {
			http.Error(w, "400 - Bad Request", http.StatusBadRequest)
			return
		}
		if token == "" {
			token = rand.Text()
			s.mu.Lock()
			m.token = token
			s.mu.Unlock()
		}
		_, _ = io.WriteString(w, token)
		return
	case q.Method != http.MethodGet:
		http.Error(w, "405 - Method Not Allowed", http.StatusMethodNotAllowed)
		return
	case token == "" || q.Header.Get("X-Aws-Ec2-Metadata-Token") != token:
		http.Error(w, "401 - Unauthorized", http.StatusUnauthorized)
		return
	}
	version, path, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/")
	if !slices.Contains([]string{"latest", "2021-03-23", "2018-09-24", "2016-09-02", "2009-04-04"}, version) {
		http.NotFound(w, q)
		return
	}
	if text, found := m.documents["/latest/"+path]; found {
		_, _ = io.WriteString(w, text)
		return
	}
	// A folder lists what is in it.
	folder := "/latest/" + strings.TrimSuffix(path, "/") + "/"
	var entries []string
	for name := range m.documents {
		if below, ok := strings.CutPrefix(name, folder); ok {
			entry, _, more := strings.Cut(below, "/")
			if more {
				entry += "/"
			}
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		http.NotFound(w, q)
		return
	}
	slices.Sort(entries)
	entries = slices.Compact(entries)
	if folder == "/latest/meta-data/public-keys/" {
		entries = []string{"0=key"}
	}
	_, _ = io.WriteString(w, strings.Join(entries, "\n"))
}

// google answers with entries, and with all that is below a folder as JSON.
func google(w http.ResponseWriter, q *http.Request, m *cloudMachine) {
	w.Header().Set("Metadata-Flavor", "Google")
	if q.Header.Get("Metadata-Flavor") != "Google" {
		http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
		return
	}
	if strings.EqualFold(q.URL.Query().Get("recursive"), "true") {
		below := map[string]string{}
		for name, text := range m.documents {
			if key, ok := strings.CutPrefix(name, strings.TrimSuffix(q.URL.Path, "/")+"/"); ok {
				below[key] = text
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(below)
		return
	}
	text, found := m.documents[q.URL.Path]
	if !found {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", "application/text")
	_, _ = io.WriteString(w, text)
}
