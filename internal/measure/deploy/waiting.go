package deploy

import "time"

// sayAfter is how long something is waited for until a person is told for what.
const sayAfter = 5 * time.Second

// waiting tells the person who waits what is waited for, once that has lasted a while. stop ends it.
func waiting(step func(format string, args ...any), format string, args ...any) (stop func()) {
	timer := time.AfterFunc(sayAfter, func() { step("waiting for "+format, args...) })
	return func() { timer.Stop() }
}
