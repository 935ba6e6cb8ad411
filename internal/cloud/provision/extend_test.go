package provision

import (
	"slices"
	"strings"
	"testing"
)

// Time is renewed by changes in place alone.
func TestExtendable(t *testing.T) {
	for action, good := range map[string]bool{
		"update": true, "create": true, "read": true, "delete": false, "replace": false,
	} {
		err := Plan{Changes: []Change{{"a.b", action}}}.extendable()
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "a.b ("+action+")") {
			t.Errorf("%s: %v", action, err)
		}
	}
	var many []Change
	for _, machine := range []string{"g", "c", "e", "a", "f", "b", "d"} {
		many = append(many, Change{"m." + machine, "replace"})
	}
	err := Plan{Changes: many}.extendable()
	const first = "m.a (replace), m.b (replace), m.c (replace), m.d (replace), m.e (replace) and 2 more. They got"
	if err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("seven machines: %v", err)
	}
}

// A machine of EC2 is stopped if what it got at its start changes, and not if its tags do.
func TestStopped(t *testing.T) {
	const plan = `{"resource_changes": [
		{"address": "aws_instance.tags", "type": "aws_instance", "change": {"actions": ["update"],
			"before": {"user_data": "x", "tags": {"a": "1"}}, "after": {"user_data": "x", "tags": {"a": "2"}}}},
		{"address": "aws_instance.time", "type": "aws_instance", "change": {"actions": ["update"],
			"before": {"user_data": "x"}, "after": {"user_data": "y"}}},
		{"address": "aws_instance.new", "type": "aws_instance", "change": {"actions": ["create"],
			"before": null, "after": {"user_data": "y"}}},
		{"address": "aws_vpc.v", "type": "aws_vpc", "change": {"actions": ["update"],
			"before": {"user_data": "x"}, "after": {"user_data": "y"}}}]}`
	got, err := stopped([]byte(plan))
	if err != nil || !slices.Equal(got, []string{"aws_instance.time"}) {
		t.Errorf("%q (%v)", got, err)
	}
}
