/* own_loss.cpp - a regression in C++ with a loss of the program's own: an autoencoder of digits.
 *
 *     c++ own_loss.cpp -o own_loss $(pkg-config --cflags --libs hogring)
 *
 * The library knows layers and their way back; what is wanted of the outputs is the program's: here
 * the squared distance to the inputs, averaged over pixels. Two threads share one network, each
 * with a space of its own and half of every batch, and add their gradients up.
 */
#include <hogring/hogring.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static void check(hr_status status)
{
    if (status != HR_OK)
        throw std::runtime_error(hr_error_message());
}

struct Network {
    hr_net *net = nullptr;
    explicit Network(const char *layers, hr_shape input)
    {
        hr_net_options options = {};
        options.layers = layers;
        options.input = input;
        options.loss = "mse"; /* not asked for its value */
        check(hr_net_open(&options, &net));
    }
    ~Network() { hr_net_close(net); }
    Network(const Network &) = delete;
    Network &operator=(const Network &) = delete;
};

struct Space {
    std::vector<unsigned char> memory;
    hr_net_space *space = nullptr;
    Space(const hr_net *net, size_t batch)
    {
        size_t bytes;
        check(hr_net_space_bytes(net, batch, nullptr, &bytes));
        memory.resize(bytes);
        check(hr_net_space_open(net, batch, nullptr, memory.data(), bytes, &space));
    }
};

/* d loss / d outputs, and the loss: the sum over samples of the mean over pixels. */
static double squared(const float *outputs, const float *wanted, size_t samples, size_t pixels,
                      std::vector<float> &doutputs)
{
    double sum = 0;
    doutputs.resize(samples * pixels);
    for (size_t i = 0; i < samples * pixels; i++) {
        const float d = outputs[i] - wanted[i];
        sum += double(d) * d / double(pixels);
        doutputs[i] = 2 * d / float(pixels);
    }
    return sum;
}

struct Job {
    Network network{"flatten, dense 16, tanh, dense 64", {1, 8, 8}}; /* all ranks' */
    hr_dataset digits = {};
    Job() { check(hr_dataset_open("digits", &digits)); }
    ~Job() { hr_dataset_close(&digits); }
};

static enum hr_status work(hr_group *world, void *arg)
try {
    const Job &job = *static_cast<Job *>(arg);
    const hr_dataset &digits = job.digits;
    const hr_net *net = job.network.net;
    const size_t rank = hr_group_rank(world), half = 16, pixels = 64;
    const size_t n = hr_net_params(net), all = digits.train.count / 32 * 32;
    std::vector<float> params(n), grads(n), x(half * pixels), doutputs;
    std::vector<uint32_t> samples(half), labels(half);
    Space space(net, half);
    hr_net_rule adam;
    check(hr_net_rule_defaults("adam", &adam));
    adam.lr = 0.005;
    size_t floats, update = 0;
    check(hr_net_rule_floats(net, &adam, &floats));
    std::vector<float> moments(floats);
    check(hr_net_init(net, 1, params.data(), n));
    for (size_t epoch = 0; epoch < 15; epoch++) {
        double loss = 0;
        for (size_t first = 0; first < all; first += 2 * half) {
            const float *outputs;
            check(hr_dataset_order(1, epoch, digits.train.count, first + rank * half, half,
                                   samples.data()));
            hr_dataset_gather(&digits, &digits.train, samples.data(), half, x.data(),
                              labels.data());
            const hr_net_batch batch = {half, x.data(), nullptr, epoch, samples.data(), nullptr};
            check(hr_net_forward(space.space, params.data(), n, &batch, HR_NET_TRAIN, &outputs));
            loss += squared(outputs, x.data(), half, pixels, doutputs);
            check(hr_net_backward(space.space, params.data(), n, doutputs.data(), doutputs.size(),
                                  grads.data()));
            check(hr_all_reduce(world, grads.data(), grads.data(), n, HR_FLOAT32, HR_SUM));
            check(hr_net_update(net, &adam, ++update, 2 * half, params.data(), grads.data(),
                                n, moments.data(), floats));
        }
        check(hr_all_reduce(world, &loss, &loss, 1, HR_FLOAT64, HR_SUM));
        if (rank == 0 && (epoch == 0 || epoch == 14))
            std::printf("epoch %zu: mean squared error %.4f\n", epoch + 1, loss / double(all));
    }
    return HR_OK;
} catch (const std::exception &error) { /* none may pass through the library, which is C */
    std::fprintf(stderr, "%s\n", error.what());
    return HR_E_FAILED;
}

int main()
try {
    Job job;
    hr_world_options options = {};
    options.nranks = 2;
    check(hr_world_run(&options, work, &job));
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
