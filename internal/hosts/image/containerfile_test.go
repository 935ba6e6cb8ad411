package image

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// containerfile reads the instructions of images/tools/Containerfile: continued lines are joined, comments left out.
func containerfile(t *testing.T) (instructions [][2]string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "images", "tools", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(string(content), "")
	text = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			word, rest, _ := strings.Cut(line, " ")
			instructions = append(instructions, [2]string{word, rest})
		}
	}
	return instructions
}

// TestContainerfile checks the Containerfile as far as that is possible without building it: its instructions, and that
// it installs the measuring tools by the names that install-tools.sh uses.
func TestContainerfile(t *testing.T) {
	var words []string
	given := map[string]string{}
	for _, i := range containerfile(t) {
		words = append(words, i[0])
		given[i[0]] = i[1] // the last one counts
	}
	if want := []string{"ARG", "FROM", "FROM", "RUN", "COPY", "USER", "ENTRYPOINT"}; !slices.Equal(words, want) {
		t.Fatalf("the instructions are %q, want %q", words, want)
	}
	for word, want := range map[string]string{
		"ARG": "AGENT", "COPY": "--from=agent /nearfar-agent /nearfar-agent", "USER": user,
		"ENTRYPOINT": `["/nearfar-agent"]`,
	} {
		if given[word] != want {
			t.Errorf("%s %s, want %s", word, given[word], want)
		}
	}

	script, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "install-tools.sh"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{}
	for _, pair := range regexp.MustCompile(`\b([a-z0-9]+):([a-z0-9-]+)\b`).FindAllStringSubmatch(string(script), -1) {
		if _, known := packages[pair[1]]; !known { // those for apt-get come first
			packages[pair[1]] = pair[2]
		}
	}
	var want []string
	for _, program := range []string{"iperf3", "ping", "netperf", "qperf", "sockperf"} {
		if packages[program] == "" {
			t.Fatalf("install-tools.sh has no package with %s", program)
		}
		want = append(want, packages[program])
	}
	install := regexp.MustCompile(`--no-install-recommends\s+([^;]+);`).FindStringSubmatch(given["RUN"])
	if install == nil {
		t.Fatalf("RUN installs nothing: %s", given["RUN"])
	}
	if got := strings.Fields(install[1]); !slices.Equal(got, want) {
		t.Errorf("it installs %q, want %q", got, want)
	}
}
