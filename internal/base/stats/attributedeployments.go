package stats

// AttributeDeployments estimates the cost of each term with the deployment as the unit: least squares in each
// deployment, and Student's t over the deployments' costs. deployments are the trials of each; together is the result
// of Attribute for all of them, whose terms and arms are kept.
//
// There is no test of whether layers add up. A deployment without a cost of a term, because trials are missing, does
// not count for that term.
func AttributeDeployments(d Design, baseline string, deployments [][]Trial, together Attribution) Attribution {
	a := together
	a.Additivity = Additivity{}
	a.Freedom = max(len(deployments)-1, 0)
	a.Costs, a.Arms = append([]Cost(nil), a.Costs...), append([]Parts(nil), a.Arms...)
	parts := make([]Attribution, len(deployments))
	for i, trials := range deployments {
		parts[i] = Attribute(d, baseline, trials)
	}
	for i := range a.Costs {
		c := &a.Costs[i]
		var values []float64
		for _, part := range parts {
			for _, other := range part.Costs {
				if other.Term.Name == c.Term.Name && other.Cost.Known {
					values = append(values, other.Cost.Value)
				}
			}
		}
		c.Cost, c.Interval, c.PValue, c.Freedom = meanOverDeployments(values)
	}
	for i := range a.Arms {
		p := &a.Arms[i]
		var wholes, residuals []float64
		for _, part := range parts {
			for _, other := range part.Arms {
				if other.Arm == p.Arm && other.Whole.Known && other.Residual.Known {
					wholes, residuals = append(wholes, other.Whole.Value), append(residuals, other.Residual.Value)
				}
			}
		}
		p.Whole, p.WholeInterval, _, _ = meanOverDeployments(wholes)
		p.Residual, p.ResidualInterval, _, _ = meanOverDeployments(residuals)
		if p.ByConstruction {
			p.ResidualInterval = Interval{}
		}
		p.Terms = append([]float64(nil), p.Terms...)
		for k := range p.Terms {
			if k < len(together.Costs) && together.Costs[k].Cost.Known && together.Costs[k].Cost.Value != 0 {
				p.Terms[k] *= a.Costs[k].Cost.Value / together.Costs[k].Cost.Value
			}
		}
	}
	return a
}

// meanOverDeployments is the mean of the deployments' values, its t interval and p-value, and the degrees of freedom.
// With one value, only the mean is known.
func meanOverDeployments(values []float64) (Quantity, Interval, Quantity, int) {
	if len(values) == 0 {
		return Quantity{}, Interval{}, Quantity{}, 0
	}
	m := meanChange(values)
	freedom := len(values) - 1
	if freedom == 0 || m.deviation == 0 {
		return known(m.value), Interval{}, Quantity{}, freedom
	}
	half := tQuantile(freedom) * m.deviation
	return known(m.value), knownInterval(m.value-half, m.value+half),
		known(tPValue(m.value, m.deviation, freedom)), freedom
}
