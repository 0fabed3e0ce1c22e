import type { Failure } from '../spool/task.ts';
import type { Ended, RunningCommand } from './run-command.ts';

/** Waits for the command's end. When its time is up, this asks its processes to end, and then kills them. */
export async function endRun(
  command: RunningCommand,
  limits: {
    readonly timeoutMs: number | undefined;
    readonly graceMs: number;
    readonly sleep: (ms: number) => Promise<void>;
  },
): Promise<Omit<Ended, 'reason'> & Pick<Failure, 'reason'>> {
  const { timeoutMs, graceMs, sleep } = limits;
  if (timeoutMs === undefined) return command.ended;
  const late = sleep(timeoutMs).then(() => undefined);
  const inTime = await Promise.race([command.ended, late]);
  if (inTime !== undefined) return inTime;
  command.kill('SIGTERM');
  await Promise.race([command.ended, sleep(graceMs)]);
  command.kill('SIGKILL');
  return { ...(await command.ended), reason: 'timeout' };
}
