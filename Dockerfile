# The node on an apt installation of ROS 2.
#
#     docker build -t oxygen_ros --build-arg ROS_DISTRO=jazzy .
#     docker run --rm -it --network host --ipc host \
#         --cap-add sys_nice --ulimit rtprio=50 --ulimit memlock=-1 \
#         oxygen_ros ros2 launch oxygen_ros oxygen.launch.py
#
# What was checked: test/test_dockerfile.py compares its versions and file names with those of this
# package. It was NOT built: where this package is developed there are no images to build on. The
# same steps on wheels of ROS 2 (colcon build, then the node) were run without Docker.
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}-ros-base

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ENV OXYGEN_WS=/opt/oxygen_ws PIP_BREAK_SYSTEM_PACKAGES=1

RUN apt-get update && apt-get install -y --no-install-recommends \
        python3-pip python3-colcon-common-extensions ros-${ROS_DISTRO}-cv-bridge \
    && rm -rf /var/lib/apt/lists/*

# PyTorch as pip finds it brings CUDA, several GB. For a CPU alone give pip the index of CPU builds
# that PyTorch's installation page names: --build-arg PIP_EXTRA='--index-url ...'
ARG PIP_EXTRA=''
RUN pip install --no-cache-dir ${PIP_EXTRA} 'torch>=2.6,<3' \
    && pip install --no-cache-dir 'transformers>=5.6,<6' 'tokenizers>=0.20,<1' 'safetensors>=0.4,<1'

COPY . ${OXYGEN_WS}/src/oxygen_ros
WORKDIR ${OXYGEN_WS}
RUN apt-get update && source /opt/ros/${ROS_DISTRO}/setup.bash \
    && rosdep update && rosdep install --from-paths src --ignore-src -y \
    && colcon build --cmake-args -DBUILD_TESTING=OFF \
    && rm -rf build log /var/lib/apt/lists/*

# The base image's entry point sources ROS 2 only.
RUN sed -i "s|^exec|source ${OXYGEN_WS}/install/setup.bash\nexec|" /ros_entrypoint.sh
CMD ["ros2", "run", "oxygen_ros", "oxygen", "doctor"]
