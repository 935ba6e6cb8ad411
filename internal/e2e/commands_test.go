//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A block is a fenced block of a page.
type block struct {
	page string // path from the project's root
	line int
	// language is the first word after the opening fence. file is the second, if any: the name under which the block is
	// saved, as in "```yaml first.yaml".
	language, file string
	text           string
	// output is the block of text directly below, which shows what the commands print.
	output string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// runs says whether the block holds commands or SQL to run.
func (b block) runs() bool { return b.language == "sh" || b.language == "sql" }

// languages are the languages that a block may have. Only sh and sql are run.
const languages = "sh sql go yaml hcl typescript json xml text csv"

// misplaced finds a command line in a block that is not run.
var misplaced = regexp.MustCompile(`(?m)^(\w*\$ |nearfar )`)

// documentedPages lists the pages whose blocks are run, as paths from the project's root.
func documentedPages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "labs/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages are %s (%v)", pattern, err)
		}
		for _, page := range found {
			pages = append(pages, filepath.ToSlash(strings.TrimPrefix(page, root+string(os.PathSeparator))))
		}
	}
	return pages
}

// blocksOf reads the blocks of a page. It fails the test for a fence that is not closed or has no known language.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	inside, between := false, "" // between is the text since the last block
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		info, fence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case fence && !inside:
			inside = true
			language, file, _ := strings.Cut(strings.TrimSpace(info), " ")
			blocks = append(blocks, block{page: page, line: n, language: language, file: file})
			if !slices.Contains(strings.Fields(languages), language) {
				t.Errorf("%s:%d: the fence says %q, and not one of: %s", page, n, language, languages)
			}
		case fence:
			inside = false
			i := len(blocks) - 1
			follows := i > 0 && blocks[i-1].language == "sh" && strings.TrimSpace(between) == ""
			if follows && blocks[i].language == "text" {
				blocks[i-1].output = blocks[i].text
			}
			between = ""
		case inside:
			blocks[len(blocks)-1].text += line
		default:
			between += line
		}
	}
	if inside {
		t.Errorf("%s: the last fence is not closed", page)
	}
	return blocks
}

// An exception is a block that TestDocumentedCommands does not run: the block of a page that begins with a text.
type exception struct {
	page, begins string
	// test is the file and function that run it instead; empty if no test can.
	test string
	why  string
}

func exceptions() []exception {
	const (
		published = "internal/cli/published_test.go TestPublished"
		sides     = "internal/cli/gate_test.go TestDocumentedSides"
		machines  = "it needs machines that ssh reaches"
		cluster   = "it needs a Kubernetes cluster"
		clouds    = "it needs a cloud"
		downloads = "it downloads a program of others"

		firstContact = "internal/kits/boottest/first_test.go TestFirstContact"

		labsMade = "internal/e2e/labs_made_test.go TestLabsMade"
		podsMade = "internal/e2e/kubenear_test.go TestNearAndFar"

		latteOfNodes = "internal/e2e/labs_latte_test.go TestAKSLabBringsLatte"
		latteOfVMs   = "internal/kits/azuretest/lab_test.go TestLabWantsHashOfLatte"
	)
	return []exception{
		{"README.md", "apt-get update\n", firstContact, "it installs packages"},
		{"README.md", "make demo ", firstContact, "make demo measures for three minutes, and make test would run this test"},
		{"README.md", "make build ", firstContact, machines},
		{"docs/agent.md", "nearfar agent ", "internal/onhost/agentcli/join_linux_test.go TestJoin", "it waits for a run"},
		{"docs/agent.md", "export WIN_JOIN=", "", "it needs the join string of an agent on another machine"},
		{"docs/baseline.md", "nearfar baseline ", "internal/e2e/baseline_test.go TestBaselineOfALab", "it takes minutes"},
		{"docs/bisect.md", "nearfar bisect ", "internal/e2e/bisect_test.go TestBisectCommits", "it takes minutes"},
		{"docs/bisect.md", "# boot.sh\n", "", "it boots a machine"},
		{"docs/captures.md", "tcpdump ", "internal/measure/recordings/captures/live_linux_test.go TestLive",
			"it captures until it is stopped"},
		{"docs/command.md", "initdb ", "internal/e2e/command_test.go TestCommandExamples", "it needs a user of its own"},
		{"docs/http.md", "PAGE_TOKEN=", "internal/e2e/http_test.go TestHTTPSecretsStay", "it needs a service"},
		{"docs/captures.md", "run=raw/", "internal/e2e/capture_test.go TestCaptureLab", "it needs a run"},
		{"docs/case-study.md", "git clone ", "", "it downloads the data of others"},
		{"docs/case-study.md", "for cni in ", "", "it reads what the block before downloaded"},
		{"docs/check.md", "nearfar check ", "internal/e2e/check_test.go TestCheckBySSH", machines},
		{"docs/cloud-test.md", "export ", "internal/e2e/cloudtest_test.go TestCloudTest", clouds},
		{"docs/experiment-file.md", "nearfar run --hosts ", "", machines},
		{"docs/first-run.md", "make build\n", "", "TestMain builds it; make build would write into the sources"},
		{"docs/gate.md", "nearfar gate ", sides, "its lines end with different exit codes"},
		{"docs/image.md", "nearfar image ", "internal/cli/image_test.go TestImage", "it pushes to a registry"},
		{"docs/image.md", "podman load ", "", "it needs a program that builds images"},
		{"docs/release.md", "ln -s ", "internal/e2e/kubernetes_test.go TestKubernetes", cluster},
		{"docs/ssh.md", "nearfar doctor ", "", "its output is that of another ~/.ssh/config"},
		{"docs/kubernetes.md", "nearfar image ", "internal/cli/image_test.go TestImage", "it pushes to a registry"},
		{"docs/kubernetes.md", "nearfar kube --manifests ", "internal/e2e/kubernetes_test.go TestKubernetes", cluster},
		{"docs/kubernetes.md", "nearfar kube --print --namespace ", "internal/e2e/kubejob_test.go TestKubernetesChart",
			cluster},
		{"docs/kubernetes.md", "nearfar kube ", "internal/cli/script_test.go TestScripts", "its output is long"},
		{"docs/kubernetes.md", "nearfar down ", "internal/e2e/kubefaults_test.go TestKubernetesFaults", cluster},
		{"docs/kubernetes.md", "kubectl create ", "internal/e2e/kubernetes_test.go TestKubernetes", cluster},
		{"docs/migrate-pool.md", "nearfar migrate-pool ", "internal/e2e/migratepool_test.go TestMigratePool", cluster},
		{"docs/provision.md", "nearfar up ", "internal/e2e/provision_test.go TestProvisionedMachines", clouds},
		{"docs/provision.md", "# up.sh\n", "internal/e2e/makers_test.go TestMakersMachines", clouds},
		{"docs/provision.md", "# down.sh\n", "internal/e2e/makers_test.go TestMakersMachines", clouds},
		{"labs/aks-accelerated-networking/README.md", "export PLAIN=", podsMade, cluster},
		{"labs/aks-accelerated-networking/README.md", "nearfar migrate-pool ", "", clouds},
		{"labs/aks-accelerated-networking/README.md", "curl -LO ", latteOfNodes, downloads},
		{"labs/ec2-placement-group/README.md", "export AWS_REGION=", labsMade, clouds},
		{"labs/ec2-placement-group/README.md", "aws pricing ", "", clouds},
		{"labs/eks-placement-group/README.md", "export AWS_REGION=", podsMade, clouds},
		{"labs/eks-placement-group/README.md", "export TOOLS_IMAGE=", podsMade, cluster},
		{"labs/eks-placement-group/README.md", "aws pricing ", "", clouds},
		{"labs/kubernetes-paths/README.md", "nearfar run ", "", cluster},
		{"labs/azure-ppg/README.md", "export SSH_PUBLIC_KEY=", labsMade, clouds},
		{"labs/azure-ppg/README.md", "export REGION=", "", "it asks Azure"},
		{"labs/azure-ppg/README.md", "curl -LO ", latteOfVMs, downloads},
		{"labs/azure-zones/README.md", "export SSH_PUBLIC_KEY=", labsMade, clouds},
		{"labs/azure-zones/README.md", "export REGION=", "", "it asks Azure"},
		{"labs/azure-zones/README.md", "export SET_CLIENT=", "", machines},
		{"labs/gcp-compact-placement/README.md", "export GOOGLE_PROJECT=", labsMade, clouds},
		{"labs/byo-ssh/README.md", "nearfar run ", "", machines},
		{"labs/nsx/README.md", "export ", "", machines},
		{"labs/own-service/README.md", "nearfar run --dry-run ", "internal/e2e/labs_services_test.go TestOwnServiceThatRuns",
			"it needs machines with a service"},
		{"labs/slowdown/README.md", "nearfar run ", "internal/e2e/labs_services_test.go TestSlowdownLab", "it takes minutes"},
		{"labs/tls/README.md", "nearfar run ", "internal/e2e/labs_services_test.go TestTLSLab", "its trials are short"},
		{"labs/placement-group/README.md", "nearfar import ", published, "its output is compared byte for byte"},
		{"labs/proximity/README.md", "nearfar import ", published, "its output is compared byte for byte"},
		{"labs/zones/README.md", "nearfar import ", published, "its output is compared byte for byte"},
	}
}

// toRun returns the blocks of a page without the exceptions, and notes in met which exceptions it found.
func toRun(blocks []block, exceptions []exception, met []bool) []block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b block) bool {
		for i, e := range exceptions {
			if b.runs() && b.page == e.page && strings.HasPrefix(b.text, e.begins) {
				met[i] = true
				return true
			}
		}
		return false
	})
}

// TestDocumentedBlocks: every block of every page has a language, and TestDocumentedCommands runs every block of
// commands that is not a known exception.
func TestDocumentedBlocks(t *testing.T) {
	t.Parallel()
	all, pages := exceptions(), pageRuns()
	met := make([]bool, len(all))
	for _, page := range documentedPages(t) {
		blocks := blocksOf(t, page)
		for _, b := range blocks {
			if !b.runs() && misplaced.MatchString(b.text) {
				t.Errorf("%v: a block of %s shows a command: put it into a block of sh", b, b.language)
			}
		}
		run := toRun(blocks, all, met)
		first := slices.IndexFunc(run, block.runs)
		if _, ok := pages[page]; !ok && first >= 0 {
			t.Errorf("%v: nothing runs it: add the page to pageRuns, or an exception", run[first])
		} else if ok && first < 0 {
			t.Errorf("%s is in pageRuns and has nothing to run", page)
		}
		delete(pages, page)
	}
	for page := range pages {
		t.Errorf("pageRuns has %s, and there is no such page", page)
	}
	for i, e := range all {
		if !met[i] {
			t.Errorf("%s has no block that begins with %q", e.page, e.begins)
		}
		if e.test == "" {
			continue
		}
		file, function, _ := strings.Cut(e.test, " ")
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil || !strings.Contains(string(text), "func "+function+"(") {
			t.Errorf("%s: %s should run the block, and does not exist (%v)", e.page, e.test, err)
		}
	}
}

// TestDocumentedCommands runs the commands that the pages show, page by page.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	finished := finishedRun(t)
	pages, all := pageRuns(), exceptions()
	for _, page := range documentedPages(t) {
		run, ok := pages[page]
		if !ok {
			continue // nothing to run, or TestDocumentedBlocks fails
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			r := newPageRun(t, finished, toRun(blocksOf(t, page), all, make([]bool, len(all))))
			run(r)
			r.close()
		})
	}
}
