import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly cpu: string;
  readonly system: string;
  readonly disk: string;
  /** How busy it was: figures from a machine that others use say little. */
  readonly load: string;
}

/** What the figures were taken on. `folder` is where the stores lay. */
export function describeMachine(folder: string): Machine {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    cpu: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${availableParallelism()} cores`,
    system: `${process.platform} ${release()}, ${Math.round(totalmem() / 1024 ** 3)} GiB memory`,
    disk: describeDisk(folder),
    load: `load average ${loadavg()[1]?.toFixed(1) ?? 'unknown'} at the end of the run`,
  };
}

/** File system and device, as far as the system says. */
function describeDisk(folder: string): string {
  try {
    const columns = ['--output=source,fstype', folder];
    const [, line = ''] = execFileSync('df', columns, { encoding: 'utf8' }).trim().split('\n');
    const [device = '', fileSystem = ''] = line.trim().split(/\s+/);
    return `${fileSystem} on ${device}${kindOf(device)}`;
  } catch {
    // Not every system has a df that knows these columns.
    return 'unknown';
  }
}

function kindOf(device: string): string {
  try {
    const name = device.split('/').at(-1) ?? '';
    const turning = readFileSync(`/sys/class/block/${name}/queue/rotational`, 'utf8').trim();
    const cache = readFileSync(`/sys/class/block/${name}/queue/write_cache`, 'utf8').trim();
    return ` (${turning === '0' ? 'solid state' : 'reported as rotating'}, ${cache})`;
  } catch {
    // A partition, a container or another system: the name has to do.
    return '';
  }
}
