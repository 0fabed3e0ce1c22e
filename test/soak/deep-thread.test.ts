import { describeDeepThread } from '../scale/deep-thread.ts';

describeDeepThread(1_000_000);
