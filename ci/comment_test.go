// Package ci holds the scripts that a CI job runs, and their tests.
package ci

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const token = "ghs_canary0123456789"

// comments is a stand-in for the comments of one pull request. It refuses what GitHub refuses: see
// https://docs.github.com/rest/issues/comments and https://docs.github.com/rest/using-the-rest-api/getting-started
// (headers), and for merge requests https://docs.gitlab.com/api/notes/.
type comments struct {
	t      *testing.T
	gitlab bool

	mu     sync.Mutex
	bodies map[int]string
	calls  []string
}

const (
	githubList = "/repos/octo/net/issues/7/comments"
	githubOne  = "/repos/octo/net/issues/comments/"
	gitlabList = "/projects/42/merge_requests/7/notes"
	// mostGitHub is the length of a comment that GitHub still takes, in characters.
	mostGitHub = 65536
)

func (c *comments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method)
	authorized := r.Header.Get("Authorization") == "Bearer "+token
	list, one, change := githubList, githubOne, http.MethodPatch
	if c.gitlab {
		authorized = r.Header.Get("PRIVATE-TOKEN") == token
		list, one, change = gitlabList, gitlabList+"/", http.MethodPut
	}
	answer := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			c.t.Error(err)
		}
	}
	if !authorized {
		answer(http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
		return
	}
	id, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, one))
	switch {
	case r.URL.Path == list && r.Method == http.MethodGet:
		answer(http.StatusOK, c.page(r))
	case r.URL.Path == list && r.Method == http.MethodPost:
		if body, ok := c.body(r, answer); ok {
			id = len(c.bodies) + 1
			c.bodies[id] = body
			answer(http.StatusCreated, map[string]any{"id": id, "body": body})
		}
	case c.bodies[id] != "" && r.Method == change:
		if body, ok := c.body(r, answer); ok {
			c.bodies[id] = body
			answer(http.StatusOK, map[string]any{"id": id, "body": body})
		}
	default:
		answer(http.StatusNotFound, map[string]string{"message": "Not Found"})
	}
}

// page is one page of the comments, in the order of their numbers; a page has at most 100.
func (c *comments) page(r *http.Request) []map[string]any {
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size = min(size, 100)
	all := []map[string]any{}
	for id := (page-1)*size + 1; id <= len(c.bodies) && id <= page*size; id++ {
		all = append(all, map[string]any{"id": id, "body": c.bodies[id]})
	}
	return all
}

// body is the text of a request, or false after a refusal.
func (c *comments) body(r *http.Request, answer func(int, any)) (string, bool) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Error(err)
	}
	var request struct {
		Body *string `json:"body"`
	}
	switch {
	case json.Unmarshal(data, &request) != nil:
		answer(http.StatusBadRequest, map[string]string{"message": "Problems parsing JSON"})
	case request.Body == nil || *request.Body == "" || len([]rune(*request.Body)) > mostGitHub:
		answer(http.StatusUnprocessableEntity, map[string]string{"message": "Validation Failed"})
	default:
		return *request.Body, true
	}
	return "", false
}

// comment runs comment.sh in a job, and returns what it printed.
func comment(t *testing.T, shell string, c *comments, text, event string, with ...string) (string, error) {
	t.Helper()
	for _, program := range []string{"curl", "jq", shell} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: run scripts/install-tools.sh test", err)
		}
	}
	api := httptest.NewServer(c)
	defer api.Close()
	folder := t.TempDir()
	for name, content := range map[string]string{"gate.md": text, "event.json": event} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := exec.Command(shell, "comment.sh", filepath.Join(folder, "gate.md"))
	script.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + folder}
	if c.gitlab {
		script.Env = append(script.Env, "GITLAB_CI=true", "CI_API_V4_URL="+api.URL, "CI_PROJECT_ID=42",
			"CI_MERGE_REQUEST_IID=7", "NEARFAR_GITLAB_TOKEN="+token)
	} else {
		script.Env = append(script.Env, "GITHUB_ACTIONS=true", "GITHUB_API_URL="+api.URL, "GITHUB_REPOSITORY=octo/net",
			"GITHUB_EVENT_PATH="+filepath.Join(folder, "event.json"), "GITHUB_TOKEN="+token)
	}
	script.Env = append(script.Env, with...)
	printed, err := script.CombinedOutput()
	if strings.Contains(string(printed), token) {
		t.Errorf("the token is printed: %s", printed)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "tmp.*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	return string(printed), err
}

const pullRequest = `{"pull_request": {"number": 7}}`

// A job makes one comment, and later jobs replace it, also behind more comments of others than a page has.
func TestOneCommentIsReplaced(t *testing.T) {
	for _, gitlab := range []bool{false, true} {
		for _, shell := range []string{"sh", "bash"} {
			c := &comments{t: t, gitlab: gitlab, bodies: map[int]string{}}
			for i := 1; i <= 230; i++ {
				c.bodies[i] = fmt.Sprintf("Looks good to me, %d. <!-- nearfar: gate -->", i)
			}
			for _, text := range []string{"Passed: it's \"fine\" \\ $HOME `x`\n\n| a | b |\n", "Failed: 12 % slower\n"} {
				if printed, err := comment(t, shell, c, text, pullRequest); err != nil {
					t.Fatalf("%v: %s", err, printed)
				}
				if want := "<!-- nearfar: gate -->\n" + text; len(c.bodies) != 231 || c.bodies[231] != want {
					t.Errorf("GitLab %v: %d comments, the last is %q", gitlab, len(c.bodies), c.bodies[231])
				}
			}
		}
	}
}

// A text that is longer than a comment may be is cut, and says so.
func TestLongCommentIsCut(t *testing.T) {
	c := &comments{t: t, bodies: map[int]string{}}
	if printed, err := comment(t, "sh", c, strings.Repeat("ä", 80000), pullRequest); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	if !strings.HasSuffix(c.bodies[1], "The rest is in the files of the job.") {
		t.Errorf("%d characters, with the end %q", len([]rune(c.bodies[1])), c.bodies[1][len(c.bodies[1])-40:])
	}
}

// Outside of a pull request there is nobody to tell.
func TestNoPullRequest(t *testing.T) {
	c := &comments{t: t, bodies: map[int]string{}}
	printed, err := comment(t, "sh", c, "Passed\n", `{"ref": "refs/heads/main"}`)
	if err != nil || len(c.calls) > 0 || !strings.Contains(printed, "no pull request") {
		t.Errorf("%v, %v: %s", err, c.calls, printed)
	}
}

// What goes wrong is said in one line: what was called, and what the service answered.
func TestCommentRefused(t *testing.T) {
	c := &comments{t: t, bodies: map[int]string{}}
	for says, with := range map[string]string{
		"answered 401: Bad credentials":            "GITHUB_TOKEN=wrong",
		"answered 404: Not Found":                  "GITHUB_REPOSITORY=octo/other",
		"GITHUB_TOKEN: is not set: pass the token": "GITHUB_TOKEN=",
		"did not answer":                           "GITHUB_API_URL=http://127.0.0.1:1",
	} {
		printed, err := comment(t, "bash", c, "Passed\n", pullRequest, with)
		if err == nil || !strings.Contains(printed, says) {
			t.Errorf("%s: %v: %s", with, err, printed)
		}
	}
	if len(c.bodies) > 0 {
		t.Errorf("%v was written", c.bodies)
	}
}
