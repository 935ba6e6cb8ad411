package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

// longestTrial is how long a trial of a brief experiment measures at most.
const longestTrial = 2 * time.Second

// runName is the name of the brief experiment of a lab, and with that the value of the tag nearfar_run.
func (l lab) runName() string { return "cloudtest-" + l.name }

// brief makes the brief form of a lab's experiment: short trials, as few blocks as intervals need, a name of its own,
// and machines that exist for ttl. It has no retry: its sizes have other prices than what was agreed to.
func (l lab) brief(text []byte, ttl time.Duration) ([]byte, *experiment.Experiment, error) {
	for name, value := range l.given {
		text = []byte(strings.ReplaceAll(string(text), "${"+name+"}", value))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("%s is no mapping", l.file)
	}
	root := document.Content[0]
	provision := value(root, "provision")
	workloads := value(root, "workloads")
	if provision == nil || workloads == nil {
		return nil, nil, fmt.Errorf("%s has no provision or no workloads", l.file)
	}
	set(root, "name", scalar(l.runName()))
	remove(provision, "retry")
	set(provision, "ttl", scalar(experiment.FormatDuration(ttl)))
	for _, workload := range workloads.Content {
		duration := value(workload, "duration")
		if duration == nil {
			continue
		}
		long, err := experiment.ParseDuration(duration.Value)
		if err != nil {
			return nil, nil, err
		}
		if long > longestTrial {
			set(workload, "duration", scalar(experiment.FormatDuration(longestTrial)))
		}
	}
	remove(root, "schedule")
	_, e, err := l.write(&document)
	if err != nil {
		return nil, nil, err
	}
	blocks := scalar(strconv.Itoa(max(1, figures.MinBlocks(e))))
	set(root, "schedule", &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("blocks"), blocks}})
	return l.write(&document)
}

// write writes an experiment, and reads it as nearfar does.
func (l lab) write(document *yaml.Node) ([]byte, *experiment.Experiment, error) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, nil, err
	}
	e, err := experimentfile.ParseWith(l.file, text, tool.Declared(), experimentfile.Inputs{Variable: os.LookupEnv})
	if err == nil && len(e.Arms) < 2 {
		err = errors.New("the lab compares nothing")
	}
	return text, e, err
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// at is the position of a key of a mapping; -1 if there is none.
func at(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// value is the value of a key of a mapping; nil if there is none.
func value(mapping *yaml.Node, key string) *yaml.Node {
	if i := at(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

// set gives a key of a mapping a value.
func set(mapping *yaml.Node, key string, to *yaml.Node) {
	if i := at(mapping, key); i >= 0 {
		mapping.Content[i+1] = to
		return
	}
	mapping.Content = append(mapping.Content, scalar(key), to)
}

// remove takes a key out of a mapping.
func remove(mapping *yaml.Node, key string) {
	if i := at(mapping, key); i >= 0 {
		mapping.Content = slices.Delete(mapping.Content, i, i+2)
	}
}
