// The documents of the server. internal/show/serve/runs.go and history.go explain each key.

import type { Interval, Quantity } from "../data/model.ts";

export interface Run {
  id: string;
  path: string;
  error?: string;
  name: string;
  question: string;
  baseline: string;
  arms: string[];
  workloads: string[];
  state: string;
  started?: string;
  ended?: string;
  changed?: string;
  imported?: boolean;
  trials: number;
  planned: number;
}

// Summary is what the list shows of a run's answer. It is fetched after the list.
export interface Summary {
  verdict: string;
  headline?: string;
  warnings: number;
  objectives: Record<string, number> | null;
  error?: string;
}

export interface Listing {
  nearfar: string;
  folder: string;
  runs: Run[];
  cut?: string;
}

export interface Choice extends Quantity {
  workload: string;
  arms: string[];
}

export interface HistoryPoint {
  id: string;
  path: string;
  started?: string;
  state: string;
  unit: string;
  median: number;
  interval: Interval;
  trials: number;
  series: number;
  differs: string[];
  versions: string;
}

export interface History {
  nearfar: string;
  experiment: string;
  choices: Choice[];
  points: HistoryPoint[];
  broken: { id: string; path: string; error: string }[];
  older_left_out: number;
}
