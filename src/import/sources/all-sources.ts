import type { Source } from '../source/source.ts';
import { chatGpt, claudeAi, jsonl, quipuExport } from './named-files.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import { omp, pi } from './pi.ts';

/** Programs with a home on a machine, then formats of files that people name. */
export const SOURCES: readonly Source[] = [
  claudeCode,
  codex,
  pi,
  omp,
  opencode,
  gemini,
  copilot,
  chatGpt,
  claudeAi,
  jsonl,
  quipuExport,
];
