package cli

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseArms(t *testing.T) {
	arms, err := parseArms([]string{"near=a.txt", "far=dir/b=c.txt", "middle", "all=-"})
	want := []armFlag{{"near", "a.txt"}, {"far", "dir/b=c.txt"}, {"middle", ""}, {"all", "-"}}
	if err != nil || fmt.Sprint(arms) != fmt.Sprint(want) {
		t.Errorf("%v, %v", arms, err)
	}
	for says, texts := range map[string][]string{
		`"=a.txt" names no arm`: {"=a.txt"},
		`"near=" names no file`: {"near="},
		`"near" is given twice`: {"near=a.txt", "far=b.txt", "near=c.txt"},
		`"far" is given twice`:  {"far", "far=b.txt"},
	} {
		if _, err := parseArms(texts); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want it to say %s", texts, err, says)
		}
	}
}

func TestSources(t *testing.T) {
	for name, c := range map[string]struct {
		arms  []armFlag
		files []string
		want  string // or the error
	}{
		"files alone":       {nil, []string{"a", "b"}, "[{ a} { b}]"},
		"one arm":           {[]armFlag{{"near", ""}}, []string{"a", "b"}, "[{near a} {near b}]"},
		"arms with files":   {[]armFlag{{"far", "x"}, {"near", "y"}}, nil, "[{far x} {near y}]"},
		"both":              {[]armFlag{{"far", "x"}, {"near", ""}}, []string{"a"}, "[{far x} {near a}]"},
		"files of none":     {[]armFlag{{"far", "x"}}, []string{"a"}, "[{far x} { a}]"},
		"two plain arms":    {[]armFlag{{"far", ""}, {"near", ""}}, []string{"a"}, "cannot belong to two arms"},
		"an arm of no file": {[]armFlag{{"far", ""}}, nil, `"far" has no file`},
		"nothing":           {nil, nil, "no file is named"},
	} {
		all, err := sources(c.arms, c.files)
		if got := fmt.Sprint(all); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}

func FuzzParseArmFlag(f *testing.F) {
	for _, seed := range []string{"near", "near=a.txt", "=", "a==b", "near=", "\x00=\x1b[2J", "a=b=c", "", "--arm=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		arm, err := parseArmFlag(text)
		switch {
		case err != nil:
			if !strings.HasPrefix(text, "=") && !strings.HasSuffix(text, "=") {
				t.Fatalf("%q: %v", text, err)
			}
		case strings.Contains(arm.name, "="):
			t.Fatalf("%q has the name %q", text, arm.name)
		case arm.path == "" && arm.name != text, arm.path != "" && arm.name+"="+arm.path != text:
			t.Fatalf("%q becomes %q and %q", text, arm.name, arm.path)
		}
	})
}
