package tool

// At gives the command with the program's path on its host, if paths has one under the program's name: a file of an
// experiment can say where a host has a program that is not on its PATH.
func (c Command) At(paths map[string]string) Command {
	c.Argv = located(c.Argv, paths)
	return c
}

// At gives the plan with the paths of the programs on each host.
func (p Plan) At(client, server map[string]string) Plan {
	p.Client = p.Client.At(client)
	if p.Server != nil {
		at := p.Server.At(server)
		p.Server = &at
	}
	return p
}

// At gives the probe with the paths of the programs on a host.
func (p Probe) At(paths map[string]string) Probe {
	programs := make([]string, len(p.Programs))
	for i, program := range p.Programs {
		programs[i] = located([]string{program}, paths)[0]
	}
	p.Programs, p.Argv = programs, located(p.Argv, paths)
	return p
}

// located replaces the first word of a command line by its path. It does not change argv.
func located(argv []string, paths map[string]string) []string {
	if len(argv) == 0 || paths[argv[0]] == "" {
		return argv
	}
	return append([]string{paths[argv[0]]}, argv[1:]...)
}
