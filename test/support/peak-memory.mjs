import { readFileSync } from 'node:fs';

/**
 * The most bytes that this process ever occupied. `maxRSS` of `resourceUsage` begins with what the parent occupied when
 * it started this process, so a large parent makes every child look large. Only Linux has the other figure.
 */
export function peakBytes() {
  try {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return Number(kib) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
