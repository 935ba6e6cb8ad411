package provision

import "testing"

func TestEntriesNameResources(t *testing.T) {
	for _, c := range []struct {
		entry, address string
		want           bool
	}{
		{"aws_instance", "aws_instance.a", true},
		{"aws_instance", `module.m["x.y"].aws_instance.a["k.\"q"]`, true},
		{"aws_instance", "module.m.module.n.aws_instance.a[0]", true},
		{"aws_instance", "data.aws_instance.a", false},
		{"aws_instance", "module.m.data.aws_instance.a", false},
		{"aws_instance", "aws_instances.a", false},
		{"aws_instance.a", "aws_instance.a", true},
		{"aws_instance.a", `aws_instance.a["b"]`, true},
		{"aws_instance.a", "aws_instance.ab", false},
		{"aws_instance.a[0]", "aws_instance.a[0]", true},
		{"aws_instance.a[0]", "aws_instance.a[1]", false},
		{"module.m", "module.m.aws_instance.a", true},
		{"module.m", `module.m["k"].aws_instance.a`, true},
		{"module.m", "module.mm.aws_instance.a", false},
		{"module.m.aws_instance.a", "aws_instance.a", false},
	} {
		if got := names(c.entry, c.address); got != c.want {
			t.Errorf("%s names %s: %v, want %v", c.entry, c.address, got, c.want)
		}
	}
}

// A plan may delete only what was agreed to; it may make and change anything.
func TestOnlyAgreedIsDeleted(t *testing.T) {
	agreed := []string{"a.x", "a.y"}
	good := Plan{Changes: []Change{{"a.x", "delete"}, {"a.y", "replace"}, {"b.z", "create"}, {"b.z", "update"}}}
	if err := onlyAgreed(good, agreed); err != nil {
		t.Error(err)
	}
	for _, action := range []string{"delete", "replace"} {
		if err := onlyAgreed(Plan{Changes: []Change{{"b.z", action}}}, agreed); err == nil {
			t.Errorf("%s of another resource was accepted", action)
		}
	}
}
