/** Names of the native kernels. A test checks that the addon exports each, and that each is used by an op. */
export const CPU_KERNELS = ["add"] as const;
export type CpuKernel = (typeof CPU_KERNELS)[number];
